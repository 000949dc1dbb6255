/* LinUCB, CRTM and CRHL for two features and linear rewards, and the random numbers that feed them.

   The equations are those of the library, in the forms with a constant to tune; tests/test_explore.py
   runs both on the same arms and rewards and compares every estimate, radius, width and axis. A
   symmetric matrix [[a, b], [b, c]] is written [a, b, c]. */
"use strict";

window.explore = (() => {
  const DIM = 2, NORM = 1, DELTA = 0.01, KAPPA = 1, PENALTY = 1;

  /* ---- two-dimensional algebra */

  const dot = (x, y) => x[0] * y[0] + x[1] * y[1];
  const times = ([a, b, c], [x, y]) => [a * x + b * y, b * x + c * y];
  const addOuter = ([a, b, c], weight, [x, y]) =>
    [a + weight * x * x, b + weight * x * y, c + weight * y * y];

  function invert([a, b, c]) {
    const determinant = a * c - b * b;
    return [c / determinant, -b / determinant, a / determinant];
  }

  /* Eigenvalues, the larger first, and the angle of its eigenvector. */
  function eigen([a, b, c]) {
    const large = (a + c) / 2 + Math.hypot((a - c) / 2, b);
    return { large, small: (a * c - b * b) / large, angle: Math.atan2(2 * b, a - c) / 2 };
  }

  /* The nearest point of {||theta|| <= S} in the V-norm: (I + nu V^-1)^-1 theta at the nu > 0 where
     its length is S. One over the length is increasing and concave in nu, so Newton's steps from
     nu = 0 approach the root from below. */
  function project(theta, inverse) {
    if (Math.hypot(...theta) <= NORM) return theta;
    const { large, small, angle } = eigen(inverse), along = [Math.cos(angle), Math.sin(angle)];
    const first = dot(along, theta), second = along[0] * theta[1] - along[1] * theta[0];
    let nu = 0, p = first, q = second;
    for (let i = 0; i < 100; i++) {
      const square = p * p + q * q, length = Math.sqrt(square);
      const slope = (p * p * large) / (1 + nu * large) + (q * q * small) / (1 + nu * small);
      const step = ((length / NORM - 1) * square) / slope;
      nu += step;
      p = first / (1 + nu * large);
      q = second / (1 + nu * small);
      if (step <= 1e-15 * nu) break;
    }
    const scale = NORM / Math.hypot(p, q);
    return [scale * (p * along[0] - q * along[1]), scale * (p * along[1] + q * along[0])];
  }

  /* ---- the policies: each says its radius after t rewards and how it learns from one */

  const logarithm = (horizon) => Math.log((4 * horizon) / DELTA);
  const excess = (epsilon) => (1 - epsilon) / (1 + epsilon);

  const makers = {
    /* V += x x^T;  theta += V^-1 x (y - x.theta), which is ridge regression. */
    LinUCB: ({ radius }) => ({
      radius: () => radius,
      learn: (state, x, reward) => move(state, x, 1, reward - dot(x, state.theta)),
    }),

    /* y counts as zero if ||x||_{V^-1} |y| > Gamma;  V += (kappa / 2) x x^T;
       theta = the V-norm projection of theta + V^-1 x (y - x.theta)  (Xue et al. 2023). */
    CRTM: ({ horizon, epsilon, raw_moment, radius_scale }) => {
      const log = logarithm(horizon), growth = Math.log1p((KAPPA * horizon) / (2 * PENALTY * DIM));
      const level = 2 * Math.pow(raw_moment / log, 1 / (1 + epsilon)) *
        Math.sqrt((DIM * growth) / KAPPA) * Math.pow(horizon, excess(epsilon) / 2);
      const squared = radius_scale * Math.pow(log, (2 * epsilon) / (1 + epsilon)) * DIM *
        Math.log(1 + horizon / (DIM * PENALTY)) * Math.pow(horizon, excess(epsilon));
      return {
        level,
        radius: () => Math.sqrt(squared),
        learn: (state, x, reward) => {
          const kept = norm(state, x) * Math.abs(reward) <= level;
          state.cuts += kept ? 0 : 1;
          move(state, x, KAPPA / 2, (kept ? reward : 0) - dot(x, state.theta));
          bringBack(state);
        },
      };
    },

    /* The error y - x.theta is clipped at sigma tau, tau = tau0 t^q sqrt(1 + w^2) / w,
       w^2 = kappa ||x||^2_{V^-1} / sigma^2;  V += kappa x x^T / sigma^2;
       theta = the V-norm projection of theta + V^-1 x clipped / sigma^2  (docs/maths/crhl.md). */
    CRHL: ({ epsilon, noise_scale, radius_scale }) => {
      const level = 0.5, power = excess(epsilon) / 2;
      const steady = Math.sqrt((2 * NORM * Math.sqrt(KAPPA * PENALTY)) / level);
      return {
        level,
        radius: (t) => Math.sqrt(
          radius_scale * DIM * Math.log(1 + t / (DIM * PENALTY)) * Math.pow(t, 2 * power)),
        learn: (state, x, reward) => {
          const length = norm(state, x), sigma = Math.max(noise_scale, steady * length);
          const weight = KAPPA / (sigma * sigma), square = weight * length * length;
          const limit = level * Math.pow(state.updates + 1, power) * sigma;
          const most = limit * Math.sqrt((1 + square) / square), error = reward - dot(x, state.theta);
          const clipped = Math.max(-most, Math.min(error, most));
          state.cuts += clipped === error ? 0 : 1;
          move(state, x, weight, clipped / (sigma * sigma));
          bringBack(state);
        },
      };
    },
  };

  const norm = (state, x) => Math.sqrt(dot(x, times(state.inverse, x)));

  /* V += weight x x^T, then theta += step V^-1 x. */
  function move(state, x, weight, step) {
    state.design = addOuter(state.design, weight, x);
    state.inverse = invert(state.design);
    const direction = times(state.inverse, x);
    state.theta = [state.theta[0] + step * direction[0], state.theta[1] + step * direction[1]];
    state.updates += 1;
  }

  function bringBack(state) {
    const inside = project(state.theta, state.inverse);
    state.projections += inside === state.theta ? 0 : 1;
    state.theta = inside;
  }

  /* A policy with its state, before any reward. */
  function make(name, constants) {
    const policy = makers[name](constants), design = [PENALTY, 0, PENALTY];
    const state = {
      theta: [0, 0], design, inverse: invert(design), updates: 0, cuts: 0, projections: 0,
    };
    const radius = () => policy.radius(state.updates);
    const width = (x) => radius() * norm(state, x);
    return {
      name, state, level: policy.level, radius, width,
      learn: (x, reward) => policy.learn(state, x, reward),
      /* The arm that is best under the most favourable theta of the region; the first of equals. */
      choose: (arms) => {
        const index = arms.map((x) => dot(x, state.theta) + width(x));
        return index.indexOf(Math.max(...index));
      },
      /* {theta : ||theta - centre||_V <= radius} as half axes and the angle of the longer one. */
      ellipse: () => {
        const { large, small, angle } = eigen(state.inverse);
        return { long: radius() * Math.sqrt(large), short: radius() * Math.sqrt(small), angle };
      },
      holds: (theta) => {
        const error = [theta[0] - state.theta[0], theta[1] - state.theta[1]];
        return Math.sqrt(dot(error, times(state.design, error))) <= radius();
      },
    };
  }

  /* What a policy has learned after each of these arms and rewards. */
  function run(name, constants, arms, rewards) {
    const policy = make(name, constants);
    return arms.map((x, t) => {
      policy.learn(x, rewards[t]);
      const { theta, cuts, projections } = policy.state;
      return {
        theta, cuts, projections, radius: policy.radius(), width: policy.width(x), ...policy.ellipse(),
      };
    });
  }

  /* ---- random numbers: number `index` of stream `key`, by a counter-based SplitMix64 (Steele, Lea,
          Flood 2014), and Student's t by Bailey (1994), both as in the library. */

  const mask = (z) => BigInt.asUintN(64, z);

  function mix(z) {
    z = mask((z ^ (z >> 30n)) * 0xBF58476D1CE4E5B9n);
    z = mask((z ^ (z >> 27n)) * 0x94D049BB133111EBn);
    return z ^ (z >> 31n);
  }

  function uniform(key, index) {
    return (Number(mix(mask(key + BigInt(index) * 0x9E3779B97F4A7C15n)) >> 12n) + 0.5) * 2 ** -52;
  }

  const streamKey = (seed, stream) => mix(mix(BigInt(seed) + 1n) + BigInt(stream));

  function studentT(key, play, index, scale) {
    const square = Math.exp((-2 / index) * Math.log(uniform(key, 4 * play))) - 1;
    return scale * Math.sqrt(index * square) * Math.cos(2 * Math.PI * uniform(key, 4 * play + 1));
  }

  /* ln Gamma(x) for x > 0: Stirling's series, after steps up to where it is exact. */
  function logGamma(x) {
    let below = 0;
    for (; x < 12; x++) below += Math.log(x);
    const y = 1 / (x * x), series = (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y / 1680))) / x;
    return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series - below;
  }

  /* E|noise|^order of Student's t, for an order below its index. */
  function studentMoment(order, index, scale) {
    const log = logGamma((order + 1) / 2) + logGamma((index - order) / 2) - logGamma(index / 2);
    return Math.pow(scale * Math.sqrt(index), order) * Math.exp(log - 0.5 * Math.log(Math.PI));
  }

  return { make, run, streamKey, uniform, studentT, studentMoment, dot };
})();
