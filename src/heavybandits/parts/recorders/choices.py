"""What a policy chose, and the reward it saw."""

from typing import Any, NamedTuple

from ...core.arm_buffer import ArmBuffer
from ...core.arrays import Floats
from ...core.protocols import Policy


class Choices(NamedTuple):
    """Record the arm and the reward of the play of each checkpoint.

    Columns: `arm`, the number of the arm (the first of several arms with the same features, -1 for
    a continuous set), and `reward`, as the policy sees it. With `checkpoints=range(1, T + 1)` every
    play has a row.

    Examples
    --------
    >>> import heavybandits as hb
    >>> problem = hb.Problem(hb.arms.Fixed(3, 2), hb.links.Identity(), hb.noises.Gaussian(0.1))
    >>> policy, wanted = hb.linucb(dim=2, radius=1.0), {"horizon": 4, "repetitions": 1}
    >>> hb.simulate(policy, problem, **wanted, record=Choices()).data["arm"].shape
    (4,)
    """

    @property
    def columns(self) -> tuple[str, ...]:
        return ("arm", "reward")

    def record(
        self,
        memory: Any,
        policy: Policy,
        state: Any,
        theta: Floats,
        buffer: ArmBuffer,
        reward: float,
        out: Floats,
    ) -> None:
        out[0], out[1] = -1.0, reward
        for k in range(buffer.features.shape[1]):
            same = buffer.penalty[k] == 0.0
            for i in range(buffer.chosen.size):
                same = same and buffer.features[i, k] == buffer.chosen[i]
            if same and out[0] < 0.0:
                out[0] = k
