"""Compare the methods of one link, noise or arm set with each other, by numbers.

A contract says more than names: the slope of a link is the derivative of its mean, a noise reads
the uniforms of its own play, an arm set has arms that exist. These checks run where a part
of your own is first used. They are public, for the tests of your parts.
"""

import inspect
import math
from typing import Any, NoReturn

import numpy as np

from .._utils.errors import InvalidInputError, PartError
from .arm_buffer import ArmBuffer
from .arrays import Floats, Key
from .confidence_region import Region, make_region
from .conformance import fault
from .dispatch import draw, maximise, mean, means, refresh, slope, top
from .part import check_part, own_classes, walk
from .part_errors import Place, attempt
from .protocols import ArmSet, KnownNoise, Link, Noise
from .rng import RecordingKey

CELLS = 256  # of the grid on which a link is compared with its slope
LOOSE = 1e-6  # relative tolerance for the constants of a link
STEEP = 1e-2  # of a difference quotient, relative to the largest slope
PLAYS = (*range(64), 1_000, 1_000_003)  # at which a noise draws
DRAWS = 4096  # compared with the moments of a noise
SIGMAS = 8.0  # standard errors between draws and moments
ROUNDS, FEW, MANY = 4, 2, 5000  # plays of an arm set; fewer if its arms have many numbers
LOOK = 200_000  # operations at most in one call of `maximise`, uncompiled


def _reject(part: Any, method: str, wrong: str) -> NoReturn:
    """Raise PartError with the class, the method and the line."""
    label = f"{type(part).__name__}.{method}"
    member = inspect.getattr_static(type(part), method, None)
    code = getattr(getattr(member, "fget", member), "__code__", None)
    if code is None:
        raise PartError(f"{label}: {wrong}")
    place = Place(label, code.co_filename, code.co_firstlineno)
    raise PartError(f"{place}: {wrong}\n{place.quoted()}")


# ---- links


def check_link(link: Link, norm: float) -> None:
    """Raise if the mean, slope and constants of a link contradict each other on [-norm, norm].

    Parameters
    ----------
    link : Link
        The link.
    norm : float
        Largest |x.theta| that it will see.

    Raises
    ------
    InvalidInputError
        A slope is not positive or not the derivative of the mean, `kappa` is above the smallest
        slope, `lipschitz` below the largest, or `bound` below the largest |mean|.
    PartError
        A method fails, or does not return a number.

    Examples
    --------
    >>> from heavybandits.links import Logistic
    >>> check_link(Logistic(), norm=2.0)
    >>> class Steep(Logistic):
    ...     def kappa(self, norm):
    ...         return 9.0
    >>> check_link(Steep(), norm=2.0)
    Traceback (most recent call last):
    heavybandits.InvalidInputError: link must have kappa <= every slope on [-2, 2];
    Steep.kappa(2) is 9, but Steep.slope(-2) is 0.105
    """
    check_part("link", link, Link)
    name, own = type(link).__name__, frozenset({type(link)})
    z = np.linspace(-norm, norm, CELLS + 1)
    mu = np.array([_number(link, "mean", attempt(own, mean, link, float(x))) for x in z])
    slopes = np.array([_number(link, "slope", attempt(own, slope, link, float(x))) for x in z])
    if not (slopes > 0.0).all():
        k = int(np.argmin(slopes))
        raise InvalidInputError(
            f"link must have a positive slope on [-{norm:.4g}, {norm:.4g}]; "
            f"{name}.slope({z[k]:.4g}) is {slopes[k]}"
        )
    _check_slopes(name, norm, z, mu, slopes)
    low, high, size = (int(f(a)) for f, a in _extremes(mu, slopes))
    constants = (
        ("kappa", "<= every slope", f"slope({z[low]:.4g})", slopes[low], 1.0),
        ("lipschitz", ">= every slope", f"slope({z[high]:.4g})", slopes[high], -1.0),
        ("bound", ">= every |mean|", f"mean({z[size]:.4g})", mu[size], -1.0),
    )
    for method, rule, at, value, sign in constants:
        given = _number(link, method, attempt(own, getattr(link, method), norm))
        if sign * (given - abs(value)) > LOOSE * abs(value) or (method != "bound" and given <= 0.0):
            raise InvalidInputError(
                f"link must have {method} {rule} on [-{norm:.4g}, {norm:.4g}]; "
                f"{name}.{method}({norm:.4g}) is {given:.3g}, but {name}.{at} is {value:.3g}"
            )
    _check_means(link, own, z, mu)


def _extremes(mu: Floats, slopes: Floats) -> list[tuple[Any, Floats]]:
    return [(np.argmin, slopes), (np.argmax, slopes), (np.argmax, np.abs(mu))]


def _check_slopes(name: str, norm: float, z: Floats, mu: Floats, slopes: Floats) -> None:
    """Compare the quotient of every cell with the slopes around it: a kink may be anywhere."""
    quotients = np.diff(mu) / np.diff(z)
    wide = np.pad(slopes, 1, mode="edge")
    around = np.stack([wide[i : i + CELLS] for i in range(4)])
    rounding = 1e-12 * np.abs(mu).max() / (z[1] - z[0])
    room = STEEP * slopes.max() + rounding
    off = np.maximum(around.min(axis=0) - quotients, quotients - around.max(axis=0)) - room
    k = int(np.argmax(off))
    if not off[k] <= 0.0:
        raise InvalidInputError(
            "link must have a slope that is the derivative of its mean on "
            f"[-{norm:.4g}, {norm:.4g}]; {name}.slope({z[k]:.4g}) is {slopes[k]:.3g}, but "
            f"{name}.mean rises by {quotients[k]:.3g} per unit there"
        )


def _check_means(link: Link, own: frozenset[type], z: Floats, mu: Floats) -> None:
    out = np.empty_like(z)
    attempt(own, means, link, z, out)
    if not np.allclose(out, mu, rtol=1e-9, atol=1e-9 * float(np.abs(mu).max())):
        k = int(np.argmax(np.abs(out - mu)))
        _reject(link, "means", f"at {z[k]:.4g} it writes {out[k]:.6g}, but mean is {mu[k]:.6g}")


def _number(part: Any, method: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or isinstance(value, str | bool):
        _reject(part, method, f"it must return a finite number, and returned {value!r:.80}")
    return number


# ---- noises


def check_noise(noise: Noise) -> None:
    """Raise if a noise is no function of its own uniforms, or contradicts its declared moments.

    Parameters
    ----------
    noise : Noise
        The noise. If it has the methods of `KnownNoise`, 4,096 draws are compared with them.

    Raises
    ------
    PartError
        `draw` fails, returns something else than a finite number, returns two numbers for one key
        and play, reads uniforms of another play, or contradicts the moments.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from heavybandits.authoring import uniform
    >>> from heavybandits.noises import StudentT
    >>> check_noise(StudentT(3.0))
    >>> class Greedy(NamedTuple):
    ...     def draw(self, key, play):
    ...         return uniform(key, 4 * play) + uniform(key, 4 * play + 5) - 1.0
    >>> check_noise(Greedy())
    Traceback (most recent call last):
    heavybandits.PartError: Greedy.draw, line 2: at play 0 it reads uniform 5, which belongs to
    another play: a play owns 0, 1 and 2 (4 play, 4 play + 1, 4 play + 2)
      <doctest heavybandits.core.part_checks.check_noise[4]>, line 2
        def draw(self, key, play):
    """
    check_draws(noise)
    kind: type = type(noise)
    if fault(kind, KnownNoise) is None:
        law: Any = noise
        check_moments(law, noise)


def check_draws(noise: Noise) -> None:
    """Raise if a noise is no function of its key and its own uniforms (see `check_noise`)."""
    part: Any = check_part("noise", noise, Noise)
    for inner in walk(part):
        if hasattr(inner, "draw"):
            _check_plays(inner)


def _check_plays(noise: Any) -> None:
    own = own_classes(noise) | {type(noise)}
    wraps = any(hasattr(inner, "draw") for field in noise for inner in walk(field))
    with np.errstate(all="ignore"):
        for play in PLAYS:
            key = RecordingKey(0x9D39247E33776D41)
            drawn = attempt(own, draw, noise, key, play)
            again = attempt(own, draw, noise, np.uint64(key), play)
            if not math.isfinite(drawn):
                _reject(noise, "draw", f"it must return a finite number, and returned {drawn}")
            if drawn != again:
                _reject(
                    noise,
                    "draw",
                    "it must return the same number for the same key and play, and did not: "
                    "random numbers come from uniform(key, ...) alone",
                )
            first = 4 * play  # a noise that holds another also owns 4 play + 3
            foreign = set(key.seen) - set(range(first, first + (4 if wraps else 3)))
            if foreign:
                _reject(
                    noise,
                    "draw",
                    f"at play {play} it reads uniform {min(foreign)}, which belongs to another "
                    f"play: a play owns {first}, {first + 1} and {first + 2} (4 play, 4 play + 1, "
                    "4 play + 2)",
                )


def check_moments(law: KnownNoise, noise: Noise) -> None:
    """Raise PartError if draws of a noise contradict the moments that `law` declares.

    Orders of at most a fifth of the tail index are compared: their sample means converge fast. Of
    higher orders the draws give a lower bound.
    """
    part: Any = noise
    own = own_classes(part) | {type(part)}
    index = float(attempt(own, law.tail_index))
    if not index > 0.0:
        _reject(part, "tail_index", f"it must return a positive number, and returned {index}")
    location = float(attempt(own, law.location))
    if attempt(own, law.symmetric) and not (location == 0.0 or math.isnan(location)):
        _reject(part, "location", f"a symmetric noise has mean 0 or none, got {location:.4g}")
    with np.errstate(all="ignore"):
        drawn = np.array([float(attempt(own, draw, noise, Key(7), n)) for n in range(DRAWS)])
        low = min(0.2 * index, 1.0)
        unit = float(np.mean(np.abs(drawn) ** low)) ** (1.0 / low)
        for shift in (0.0, unit, -unit):
            _compare(part, own, law, low, shift, np.abs(drawn + shift) ** low)
        for order in (1.0, 1.5, 2.0):
            if order < index:
                _bound_below(part, own, law, order, np.abs(drawn))
        if math.isfinite(location):
            given = float(attempt(own, law.central_moment, low))
            same = float(attempt(own, law.moment, low, -location))
            if not math.isclose(given, same, rel_tol=1e-6):
                said = f"central_moment({low:.3g}) is {given:.4g}, but moment at -location is"
                _reject(part, "central_moment", f"{said} {same:.4g}")


def _compare(
    part: Any, own: frozenset[type], law: KnownNoise, order: float, shift: float, powers: Floats
) -> None:
    given = float(attempt(own, law.moment, order, shift))
    # Draws that miss a rare event show less variance than the law declares.
    declared = float(attempt(own, law.moment, 2.0 * order, shift)) - given * given
    spread = max(float(powers.std()), math.sqrt(declared) if declared > 0.0 else 0.0)
    found, error = float(powers.mean()), spread / math.sqrt(DRAWS)
    if not abs(given - found) <= SIGMAS * error + 1e-6 * abs(found):
        _reject(
            part,
            "moment",
            f"moment({order:.3g}, {shift:.3g}) is {given:.4g}, but {DRAWS} draws give "
            f"{found:.4g} with a standard error of {error:.2g}",
        )


def _bound_below(
    part: Any, own: frozenset[type], law: KnownNoise, order: float, sizes: Floats
) -> None:
    powers = np.minimum(sizes, np.quantile(sizes, 0.99)) ** order
    least = float(powers.mean()) - SIGMAS * float(powers.std()) / math.sqrt(DRAWS)
    given = float(attempt(own, law.moment, order))
    if not given >= least * (1.0 - 1e-6):
        said = f"moment({order:.3g}) is {given:.4g}, but {DRAWS} draws show at least {least:.4g}"
        _reject(part, "moment", said)


# ---- arm sets


def check_arm_set(arms: ArmSet, norm: float = 1.0) -> None:
    """Check the arms of an arm set, and its search for the best arm.

    Parameters
    ----------
    arms : ArmSet
        The arm set. The check draws the arms of four plays (of two if there are many arms).
    norm : float, default 1
        Largest norm of an arm.

    Raises
    ------
    PartError
        A buffer has the wrong shape, no arm is available, two buffers get different arms, an arm
        is not finite or longer than `norm`, a set that never changes does change, or `top` and
        `maximise` do not return the best of the available arms.

    Examples
    --------
    >>> import numpy as np
    >>> from heavybandits.arms import Fixed, FromArray
    >>> check_arm_set(Fixed(20, 10))
    >>> check_arm_set(FromArray(2.0 * np.eye(3)), norm=2.0)
    """
    part: Any = check_part("arms", arms, ArmSet)
    own = own_classes(part) | {type(part)}
    buffer, twin = attempt(own, part.make_buffer), attempt(own, part.make_buffer)
    _check_buffer(part, buffer)
    region = make_region(part.dim, 1.0)
    region.centre[:] = np.random.default_rng(0).normal(size=part.dim)
    first: Floats | None = None
    with np.errstate(all="ignore"):
        for play in range(ROUNDS if part.dim * part.size <= MANY else FEW):
            for each in (buffer, twin):
                new = attempt(own, refresh, part, each, np.uint64(17), play)
            if play == 0 and not new:
                _reject(part, "refresh", "it must return True at play 0, where all arms are new")
            if part.size == 0:
                _check_continuous(part, own, buffer, region)
                continue
            _check_arms(part, buffer, twin, norm)
            first = buffer.features.copy() if first is None else first
            if part.redraw == "never" and not np.array_equal(first, buffer.features):
                _reject(part, "refresh", f"the arms change at play {play}, but redraw is 'never'")
            _check_best(part, own, buffer, region)


def _check_buffer(arms: Any, buffer: Any) -> None:
    if not isinstance(buffer, ArmBuffer):
        _reject(arms, "make_buffer", f"it must return an ArmBuffer, got {type(buffer).__name__}")
    rows, columns = buffer.features.shape
    if rows != arms.dim or buffer.chosen.shape != (arms.dim,) or columns < arms.size:
        _reject(
            arms,
            "make_buffer",
            f"it must have room for dim = {arms.dim} and size = {arms.size}, got features of shape "
            f"({rows}, {columns}): use make_arm_buffer(dim, size)",
        )


def _check_arms(arms: Any, buffer: ArmBuffer, twin: ArmBuffer, norm: float) -> None:
    size = arms.size
    seen, again = buffer.features[:, :size], twin.features[:, :size]
    there = buffer.penalty[:size] < np.inf
    if not np.array_equal(seen, again, equal_nan=True):
        _reject(arms, "refresh", "it must write the same arms for the same key and play")
    if not there.any():
        _reject(arms, "refresh", "it must leave at least one arm with a finite penalty")
    if not np.isposinf(buffer.penalty[size:]).all():
        _reject(arms, "refresh", "columns beyond `size` must keep their infinite penalty")
    lengths = np.where(there, np.sqrt(np.einsum("ik,ik->k", seen, seen)), 0.0)
    if not np.isfinite(lengths).all():
        arm = int(np.argmin(np.isfinite(lengths)))
        _reject(arms, "refresh", f"arm {arm} is not finite: {seen[:, arm].tolist()!r:.80}")
    if lengths.max() > norm * (1.0 + 1e-6):
        arm = int(np.argmax(lengths))
        _reject(
            arms,
            "refresh",
            f"arm {arm} has norm {lengths[arm]:.3g}, above norm = {norm:.3g}: divide the features "
            "by the largest norm, or pass a larger `norm`",
        )


def _check_best(arms: Any, own: frozenset[type], buffer: ArmBuffer, region: Region) -> None:
    """Compare `top` and `maximise` with all available arms, one by one."""
    dim, size, theta = arms.dim, arms.size, -region.centre
    seen = buffer.features[:, :size]
    there = np.where(buffer.penalty[:size] < np.inf, 0.0, -np.inf)
    best, found = float(np.max(theta @ seen + there)), attempt(own, top, arms, buffer, theta)
    room = 1e-9 * (1.0 + float(np.abs(seen).max()) * dim)
    if not abs(found - best) <= room:
        _reject(arms, "top", f"it returned {found:.6g}, but the best available arm has {best:.6g}")
    if dim * dim * size > LOOK:
        return
    scores = region.centre @ seen + np.sqrt(np.einsum("ik,ik->k", seen, seen)) + there
    arm = attempt(own, maximise, arms, buffer, region, 1.0)
    if not 0 <= arm < size or there[arm] < 0.0:
        _reject(arms, "maximise", f"it returned {arm}, which is none of the available arms")
    if not np.array_equal(buffer.chosen, buffer.features[:, arm]):
        _reject(arms, "maximise", f"it returned {arm}, but buffer.chosen is another arm")
    if not scores[arm] >= scores.max() - room:
        _reject(
            arms,
            "maximise",
            f"it returned arm {arm} of index {scores[arm]:.6g}, but arm {int(scores.argmax())} has "
            f"{scores.max():.6g}: call mark_stale where the arms change",
        )


def _check_continuous(arms: Any, own: frozenset[type], buffer: ArmBuffer, region: Region) -> None:
    theta = region.centre
    best = attempt(own, top, arms, buffer, theta)
    attempt(own, maximise, arms, buffer, region, 0.0)
    if not np.isfinite(buffer.chosen).all():
        _reject(arms, "maximise", "it must write finite features into buffer.chosen")
    found = float(buffer.chosen @ theta)
    if not abs(found - best) <= 1e-6 * (1.0 + abs(best)):
        _reject(arms, "top", f"it returned {best:.6g}, but maximise finds {found:.6g} at width 0")
