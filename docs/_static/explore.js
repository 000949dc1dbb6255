/* The page "See it happen": it plays the policies of explore_policies.js and draws what they know. */
"use strict";

(() => {
  const HORIZON = 1000, ARMS = 8, OUTLIER = -10000, START = 150, SHOWN = 60, SCALE = 100, VIEW = 160, LINE = 20;
  const NAMES = ["LinUCB", "CRTM", "CRHL"];
  const { dot, make, streamKey, studentMoment, studentT, uniform } = window.explore;
  const find = (name) => document.getElementById(`explore-${name}`);
  const still = window.matchMedia("(prefers-reduced-motion: reduce)");
  const number = (value, digits = 2) =>
    Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en").replace(/,/g, "\u202f")
      : value.toFixed(Math.abs(value) >= 100 ? 0 : digits);
  const letter = (arm) => String.fromCharCode(65 + arm);
  const length = (x, y) => Math.hypot(x[0] - y[0], x[1] - y[1]);
  let world, players, round, timer = null;

  /* ---- the world and the players */

  function makeWorld(seed, index, level) {
    const key = streamKey(seed, 0), draw = (i) => uniform(key, i);
    const at = (angle, size) => [size * Math.cos(angle), size * Math.sin(angle)];
    const arms = Array.from({ length: ARMS }, (_, k) =>
      at((2 * Math.PI * (k + 0.7 * draw(2 * k))) / ARMS, 0.6 + 0.4 * draw(2 * k + 1)));
    const theta = at(2 * Math.PI * draw(2 * ARMS), 0.8), means = arms.map((x) => dot(x, theta));
    const noise = (play) => studentT(streamKey(seed, 1), play, index, level);
    return { arms, theta, means, best: Math.max(...means), noise, index, level };
  }

  /* What the theorems ask for: the moments of the noise, of an order below the tail index. */
  function constants({ index, level }) {
    const epsilon = Math.min(1, 0.8 * (index - 1));
    const noise_scale = Math.pow(studentMoment(1 + epsilon, index, level), 1 / (1 + epsilon));
    return {
      LinUCB: { radius: 1 },
      CRTM: { horizon: HORIZON, epsilon, raw_moment: Math.pow(1 + noise_scale, 1 + epsilon), radius_scale: 0.01 },
      CRHL: { epsilon, noise_scale, radius_scale: 0.1 },
    };
  }

  function reset(rounds) {
    const seed = Math.min(Math.max(Math.trunc(Number(find("seed").value)) || 0, 0), 999999);
    world = makeWorld(seed, Number(find("index").value), Number(find("level").value));
    const told = constants(world);
    players = NAMES.map((name) =>
      ({ policy: make(name, told[name]), regret: [0], paid: [], arm: null, moved: 0 }));
    round = 0;
    for (let i = 0; i < rounds; i++) advance();
  }

  /* One round: every player chooses, and all meet the same noise, or the same outlier. */
  function advance(outlier = null) {
    const noise = world.noise(round);
    round += 1;
    for (const player of players) {
      const { policy } = player, arm = policy.choose(world.arms), x = world.arms[arm];
      const reward = outlier === null ? world.means[arm] + noise : outlier;
      const before = policy.state.theta, cuts = policy.state.cuts;
      policy.learn(x, reward);
      player.arm = arm;
      player.moved = length(policy.state.theta, before);
      player.paid.push({ reward, cut: policy.state.cuts > cuts });
      player.regret.push(player.regret[player.regret.length - 1] + world.best - world.means[arm]);
    }
  }

  /* ---- drawing */

  function element(name, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  const panels = NAMES.map((name) => {
    const panel = document.createElement("section");
    panel.className = `explore-panel ${name}`;
    panel.setAttribute("aria-label", name);
    panel.innerHTML = `<h3 class="explore-title">${name}</h3>
      <svg class="plane" viewBox="${-VIEW} ${-VIEW} ${2 * VIEW} ${2 * VIEW}" role="img"></svg>
      <svg class="strip" viewBox="0 0 320 56" role="img"></svg><dl></dl>`;
    find("panels").append(panel);
    return panel;
  });

  function drawPlane(svg, { policy, arm }) {
    const { theta } = policy.state, at = ([x, y]) => [SCALE * x, -SCALE * y];
    const [cx, cy] = at(theta), outside = Math.max(Math.abs(cx), Math.abs(cy)) > VIEW - 8;
    const { long, short, angle } = policy.ellipse(), [tx, ty] = at(world.theta);
    svg.replaceChildren(
      element("circle", { class: "ball", r: SCALE }),
      element("path", { class: "axes", d: `M${-VIEW} 0H${VIEW}M0 ${-VIEW}V${VIEW}` }),
      element("ellipse", {
        class: "region", rx: SCALE * long, ry: SCALE * short,
        transform: `translate(${cx} ${cy}) rotate(${(-angle * 180) / Math.PI})`,
      }),
      ...world.arms.flatMap((x, k) => drawArm(...at(x), letter(k), k === arm)),
      element("path", { class: "truth", d: `M${tx} ${ty - 9}l8 9-8 9-8-9Z` }),
      outside ? drawArrow(cx, cy)
        : element("path", { class: "estimate", d: `M${cx - 8} ${cy}h16M${cx} ${cy - 8}v16` }),
    );
    const where = outside ? `off the picture, ${number(length(theta, world.theta))} from the truth`
      : `${number(length(theta, world.theta))} from the truth`;
    svg.setAttribute("aria-label", `The estimate of ${policy.name} is ${where}.`);
  }

  function drawArm(x, y, name, played) {
    const out = 1 + 15 / Math.hypot(x, y), square = { x: x - 4, y: y - 4, width: 8, height: 8 };
    const made = [
      element("rect", { class: played ? "arm played" : "arm", ...square }),
      element("text", { x: x * out, y: y * out + 4, class: played ? "played" : "" }, name),
    ];
    return played ? [...made, element("circle", { class: "ring", cx: x, cy: y, r: 9 })] : made;
  }

  /* An estimate that has left the picture: an arrow at the edge points to it. */
  function drawArrow(x, y) {
    const shrink = (VIEW - 14) / Math.max(Math.abs(x), Math.abs(y));
    const turn = (Math.atan2(y, x) * 180) / Math.PI;
    const transform = `translate(${x * shrink} ${y * shrink}) rotate(${turn})`;
    return element("path", { class: "estimate away", d: "M-22 0H8M-2-8 8 0-2 8", transform });
  }

  /* The last rewards, the newest on the right; a cross over those that were cut. */
  function drawStrip(svg, { paid, policy }) {
    const last = paid.slice(-SHOWN), middle = 28, most = 20, step = 320 / SHOWN;
    const x = (i) => (SHOWN - last.length + i + 0.5) * step;
    const height = (reward) => Math.max(-most, Math.min(most, (reward * most) / 2));
    const made = last.flatMap(({ reward, cut }, i) => [
      element("path", { class: cut ? "bar cut" : "bar", d: `M${x(i)} ${middle}v${-height(reward)}` }),
      ...(cut ? [element("path", { class: "mark", d: `M${x(i) - 3} ${middle - 3}l6 6m0-6-6 6` })] : []),
      ...(reward === OUTLIER ? [element("text", { x: Math.min(x(i), 290), y: 55 }, "−10,000")] : []),
    ]);
    svg.replaceChildren(element("path", { class: "axes", d: `M0 ${middle}H320` }), ...made);
    const cut = last.filter((each) => each.cut).length;
    svg.setAttribute("aria-label",
      `The last ${last.length} rewards of ${policy.name}, of which ${cut} were cut.`);
  }

  function drawNumbers(list, { policy, regret, arm, paid }) {
    const { long, short } = policy.ellipse(), { theta, cuts } = policy.state;
    const rows = {
      "estimate": `(${number(theta[0])}, ${number(theta[1])})`,
      "from the truth": number(length(theta, world.theta)),
      "half axes": `${number(long)}, ${number(short)}`,
      "truth inside": policy.holds(world.theta) ? "yes" : "no",
      "played": round ? `${letter(arm)}, paid ${number(paid[paid.length - 1].reward)}` : "nothing yet",
      "rewards cut": policy.name === "LinUCB" ? "never" : `${cuts} of ${round}`,
      "regret": number(regret[regret.length - 1], 1),
    };
    list.innerHTML = Object.entries(rows)
      .map(([name, text]) => `<div><dt>${name}</dt><dd>${text}</dd></div>`).join("");
  }

  const randomRegret = () =>
    world.best - world.means.reduce((sum, mean) => sum + mean, 0) / ARMS;

  function drawRegret(svg) {
    const [left, right, top, bottom] = [60, 490, 16, 172], random = randomRegret() * round;
    const highest = Math.max(1, random, ...players.map(({ regret }) => regret[round]));
    const x = (t) => left + ((right - left) * t) / Math.max(round, 1);
    const y = (value) => bottom - ((bottom - top) * value) / highest;
    const ends = [...players.map(({ policy, regret }) => [policy.name, regret]),
      ["random play", [0, random]]];
    const labels = ends.map(([name, values]) => ({ name, y: y(values[values.length - 1]) }))
      .sort((a, b) => b.y - a.y);
    labels.forEach((label, i) => { // from the lowest up, each clear of the one below
      if (i) label.y = Math.min(label.y, labels[i - 1].y - LINE);
    });
    svg.replaceChildren(
      element("path", { class: "axes", d: `M${left} ${top}V${bottom}H${right}` }),
      element("text", { x: left - 6, y: top + 4, class: "end" }, number(highest, 1)),
      element("text", { x: left - 6, y: bottom + 4, class: "end" }, "0"),
      element("text", { x: right, y: bottom + 18, class: "end" }, `round ${round}`),
      ...ends.map(([name, values]) => element("path", {
        class: `line ${name.replace(" ", "-")}`,
        d: values.map((value, i) =>
          `${i ? "L" : "M"}${x(name === "random play" ? i * round : i)} ${y(value)}`).join(""),
      })),
      ...labels.map((label) => element("text", { x: right + 8, y: label.y + 4 }, label.name)),
    );
  }

  function draw() {
    players.forEach((player, i) => {
      drawPlane(panels[i].querySelector(".plane"), player);
      drawStrip(panels[i].querySelector(".strip"), player);
      drawNumbers(panels[i].querySelector("dl"), player);
    });
    drawRegret(find("regret"));
    find("index-value").textContent = world.index.toFixed(1);
    find("level-value").textContent = world.level.toFixed(2);
    document.getElementById("explore").dataset.round = round;
  }

  /* ---- in words, for those who listen */

  const each = (tell) => players.map((player) => `${player.policy.name} ${tell(player)}`).join(", ");

  function sayState() {
    const far = each(({ policy }) => number(length(policy.state.theta, world.theta)));
    const regret = each(({ regret: total }) => number(total[round], 1));
    find("words").textContent = `Round ${round}. The estimates are this far from the truth: ${far}. ` +
      `Regret: ${regret}; random play has ${number(randomRegret() * round, 1)}.`;
  }

  function sayOutlier() {
    const effect = { CRTM: "counted as zero", CRHL: "clipped" };
    const moved = each(({ policy, moved: by, paid }) =>
      number(by, 3) + (paid[paid.length - 1].cut ? ` (${effect[policy.name]})` : ""));
    find("words").textContent =
      `Round ${round}: a reward of −10,000 for all three. It moved the estimates by: ${moved}.`;
  }

  /* ---- controls */

  function pause() {
    cancelAnimationFrame(timer);
    timer = null;
    find("play").textContent = still.matches ? "Play 100 rounds" : "Play";
  }

  function tick() {
    advance();
    draw();
    if (round % 100 === 0) sayState();
    if (round < HORIZON) timer = requestAnimationFrame(tick);
    else stop();
  }

  function stop() {
    pause();
    sayState();
  }

  function play() {
    if (timer !== null) return stop();
    if (round >= HORIZON) reset(0);
    if (still.matches) {
      for (let i = 0; i < 100 && round < HORIZON; i++) advance();
      draw();
      return sayState();
    }
    find("play").textContent = "Pause";
    timer = requestAnimationFrame(tick);
  }

  function step() {
    pause();
    if (round < HORIZON) advance();
    draw();
    sayState();
  }

  function drop() {
    if (round >= HORIZON) return;
    advance(OUTLIER);
    draw();
    sayOutlier();
  }

  function restart(rounds) {
    pause();
    reset(rounds);
    draw();
    sayState();
  }

  find("play").addEventListener("click", play);
  find("step").addEventListener("click", step);
  find("drop").addEventListener("click", drop);
  find("reset").addEventListener("click", () => restart(0));
  for (const name of ["index", "level", "seed"])
    find(name).addEventListener("input", () => restart(START));
  still.addEventListener("change", pause);
  restart(START);
})();
