"""Three thousand mangled state files; `benchmarks/fuzz_state.py` takes a hundred thousand."""

import os

import state_fuzz

FILES = int(os.environ.get("HEAVYBANDITS_FUZZ", "3000"))


def test_no_mangled_file_crashes_misleads_or_runs_anything() -> None:
    found = state_fuzz.fuzz(FILES)
    names = {kind for kind, _ in found}
    assert names == {mangle.__name__ for mangle in (*state_fuzz.DAMAGE, *state_fuzz.MALICE)}
    refused = sum(count for (_, outcome), count in found.items() if outcome == "refused")
    assert found.total() == FILES
    assert refused > FILES // 2  # the others changed nothing, or were whole files of another policy


def test_the_seeds_load() -> None:
    for data in state_fuzz.seeds():
        assert state_fuzz.judge(data, malicious=False) == "harmless"
        assert state_fuzz.judge(data, malicious=True) == "harmless"
