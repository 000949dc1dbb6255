"""`bounds`: what the theorems promise for your numbers."""

import math
from typing import Any

import click

from .._utils.tables import shown
from .._utils.validation import epsilon as check_epsilon
from .._utils.validation import positive
from ..algorithms import theory
from ..parts.links import check_link
from .options import COUNT, JSON, LINK_OPTION, print_json, with_default


@click.command(short_help="Print the bounds of the theorems for your numbers.")
@with_default("--dim", 10, "Dimension d of the arms.", type=COUNT)
@with_default("--horizon", 1_000_000, "Number of plays T.", type=COUNT)
@with_default("--epsilon", 1.0, "Order of the moments minus 1, in (0, 1].")
@with_default("--delta", 0.01, "Probability with which a bound may fail.")
@with_default("--raw-moment", 3.534446647, "u, a bound on the raw moment E|y|^(1 + epsilon).")
@with_default("--central-moment", 3.0, "v, a bound on the central moment E|noise|^(1 + epsilon).")
@with_default("--asymmetry", 1.0, "C of CRAL's condition on the noise; 0 for symmetric noise.")
@with_default("--norm", 1.0, "S, a bound on the norm of theta*.")
@LINK_OPTION
@click.option("--corrected", is_flag=True, help="Use the factor 2 that the published proofs miss.")
@JSON
def bounds(link: Any, as_json: bool, corrected: bool, **given: Any) -> None:
    """Print thresholds, confidence regions, plays per decision and regret bounds of the algorithms.

    CRTM and CRMM are the paper's algorithms, CRHL, CRAL and CRCM this library's. Compare widths of
    an arm, not radii, which belong to different matrices. All bounds are valid, but most of them
    are much larger than the rewards. The defaults are the paper's: Student's t noise with 3 degrees
    of freedom.

    \b
    heavybandits bounds --dim 5 --horizon 10000 --epsilon 0.5 --raw-moment 2
    """
    values = promised(link, corrected, given)
    if as_json:
        print_json(values)
        return
    width = max(len(name) for name in values)
    for name, value in values.items():
        click.echo(f"{name.ljust(width)}  {shown(value)}")


def promised(link: Any, corrected: bool, given: dict[str, Any]) -> dict[str, Any]:
    """Return the bounds by name."""
    u, v = given["raw_moment"], given["central_moment"]
    norm = positive("norm", given["norm"])
    sizes = {key: given[key] for key in ("dim", "horizon", "epsilon", "delta")}
    kappa = check_link(link, norm)
    known = {**sizes, "kappa": kappa, "bound": link.bound(norm), "norm": norm}
    known["corrected"] = corrected
    slope, penalty = link.lipschitz(norm), theory.regularisation(kappa)
    clock = {"horizon": sizes["horizon"], "delta": sizes["delta"]}
    epochs = theory.median_epochs(**clock)
    region = theory.median_region(t=epochs, central_moment=v, **known)
    threshold = theory.truncation_threshold(raw_moment=u, kappa=kappa, **sizes)
    radius = theory.truncation_region(raw_moment=u, **known)
    return {
        "kappa": kappa,
        "lambda": penalty,
        "CRTM: truncation threshold Gamma": threshold,
        "CRTM: squared radius gamma": radius,
        "CRTM: width of an arm times sqrt(plays)": math.sqrt(2.0 * radius / kappa),
        "CRTM: squared radius at c = 1": theory.truncation_tuned(penalty=penalty, **sizes),
        "CRTM: regret bound": theory.truncation_regret(raw_moment=u, lipschitz=slope, **known),
        "CRMM: plays per decision r": theory.median_plays(**clock),
        "CRMM: decisions": epochs,
        "CRMM: squared radius at the end": region,
        "CRMM: regret bound": theory.median_regret(central_moment=v, lipschitz=slope, **known),
        **own_promises(v, kappa, slope, norm, sizes),
        **adaptive_promises(v, kappa, slope, norm, given),
        "lower bound, without its constant": theory.lower_bound(
            dim=sizes["dim"], horizon=sizes["horizon"], epsilon=sizes["epsilon"]
        ),
    }


def own_promises(
    v: float, kappa: float, slope: float, norm: float, sizes: dict[str, Any]
) -> dict[str, Any]:
    """Return the numbers of CRHL and CRCM."""
    known: dict[str, Any] = {**sizes, "kappa": kappa, "lipschitz": slope, "norm": norm}
    end = sizes["horizon"]
    noise_scale = math.pow(
        positive("central-moment", v), 1.0 / (1.0 + check_epsilon(sizes["epsilon"]))
    )
    huber = theory.huber_theorem(noise_scale=noise_scale, **known)
    sharper = theory.huber_theorem(noise_scale=noise_scale, sharper=True, **known)
    columns = theory.column_theorem(central_moment=v, **known)
    weight = math.sqrt(kappa) / noise_scale
    return {
        "CRHL: threshold tau0": huber.threshold,
        "CRHL: squared radius at the end": huber.radius(end) ** 2,
        "CRHL: width of an arm times sqrt(plays)": huber.radius(end) / weight,
        "CRHL: the same, sharper constant": sharper.radius(end) / weight,
        "CRHL: regret bound": huber.regret(end),
        "CRCM: plays per decision k": columns.plays,
        "CRCM: decisions": columns.decisions,
        "CRCM: squared radius at the end": columns.radius(columns.decisions) ** 2,
        "CRCM: regret bound": columns.regret(),
    }


def adaptive_promises(
    v: float, kappa: float, slope: float, norm: float, given: dict[str, Any]
) -> dict[str, Any]:
    """Return the numbers of CRAL, which itself receives neither epsilon nor a moment."""
    end, epsilon, asymmetry = given["horizon"], given["epsilon"], given["asymmetry"]
    promise = theory.doubling_theorem(
        dim=given["dim"],
        asymmetry=asymmetry,
        kappa=kappa,
        lipschitz=slope,
        norm=norm,
        delta=given["delta"],
        horizon=end,
    )
    noise = (math.pow(v, 1.0 / (1.0 + epsilon)), epsilon)
    radius = promise.radius(end, *noise)
    return {
        "CRAL: factor c": promise.factor,
        "CRAL: rarest single atom that C allows": theory.rarest_atom(asymmetry),
        "CRAL: smallest threshold of a reward": promise.least_threshold,
        "CRAL: squared radius at the end": radius**2,
        "CRAL: width of an arm times sqrt(plays)": radius / math.sqrt(kappa),
        "CRAL: regret bound": promise.regret(end, *noise),
    }
