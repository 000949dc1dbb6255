"""Every module has tests in the same place of the tree, or a row here that says where they are."""

from fnmatch import fnmatch
from typing import NamedTuple

import pytest

from paths import SOURCE, TESTS


class Elsewhere(NamedTuple):
    """Where the tests of some modules are, and why not under the name of the module."""

    modules: str
    tests: tuple[str, ...]
    reason: str


FACADES = sorted(path.stem for path in SOURCE.glob("[a-z]*.py"))
LAWS = "laws/test_contracts.py"
ELSEWHERE = [
    Elsewhere("__main__.py", ("cli/test_app.py",), "calls the command"),
    Elsewhere("*__init__.py", ("laws/test_public_face.py",), "exports what other modules define"),
    *(
        Elsewhere(f"{name}.py", ("laws/test_public_face.py",), "exports what other modules define")
        for name in FACADES
    ),
    Elsewhere("_utils/version.py", ("laws/test_project.py",), "one constant"),
    Elsewhere("_utils/errors.py", ("laws/test_imports.py",), "messages are tested where raised"),
    Elsewhere("_utils/progress.py", ("cli/test_compile.py",), "seen by who waits"),
    Elsewhere("_utils/threads.py", ("simulation/test_run.py",), "seen in `jobs`"),
    Elsewhere("_utils/drawing.py", ("simulation/test_result.py",), "seen in plots of results"),
    Elsewhere("_utils/records.py", ("simulation/test_result.py",), "seen in results"),
    Elsewhere("_utils/registry.py", ("laws/test_registry.py",), "a rule for all registries"),
    Elsewhere(
        "_utils/*.py", ("experiments/test_run.py",), "statistics and tables of the experiments"
    ),
    Elsewhere(
        "agents/*.py",
        ("agents/test_agent.py", "agents/test_named.py", "agents/test_faults.py"),
        "plain functions behind the methods of Agent, tested through them",
    ),
    Elsewhere("ledger/reader.py", ("agents/test_named.py",), "reads what an agent writes"),
    Elsewhere("ledger/tables.py", ("ledger/test_sqlite.py",), "the tables that sqlite.py fills"),
    Elsewhere("ledger/postgres_*.py", ("ledger/test_postgres.py",), "the server below postgres.py"),
    Elsewhere("ledger/stores.py", ("ledger/test_address.py",), "finds the store of an address"),
    Elsewhere("ledger/sqlite_file.py", ("ledger/test_sqlite.py",), "the files below sqlite.py"),
    Elsewhere("testing/*_laws.py", ("testing/test_check_policy.py",), "the laws of check_policy"),
    Elsewhere("features/*.py", ("features/test_encoder.py",), "tested through the encoder"),
    Elsewhere("offline/actions.py", ("offline/test_log.py",), "what a log says of its actions"),
    Elsewhere("offline/evaluate/*.py", ("offline/test_evaluate.py",), "tested through evaluate"),
    Elsewhere("offline/replay/*.py", ("offline/test_replay.py",), "tested through replay"),
    Elsewhere("offline/diagnose/*.py", ("offline/test_diagnose.py",), "tested through diagnose"),
    Elsewhere("serving/*.py", ("serving/test_service.py",), "tested through a running service"),
    Elsewhere("cli/*.py", ("cli/test_app.py",), "commands are tested as they are typed"),
    Elsewhere("sweeps/cell.py", ("sweeps/test_run.py",), "cells and their store"),
    Elsewhere("sweeps/store.py", ("sweeps/test_run.py",), "cells and their store"),
    Elsewhere("sweeps/search.py", ("sweeps/test_tune.py",), "the search of tune"),
    Elsewhere("sweeps/*.py", ("sweeps/test_sweep.py",), "tested through sweep and map_cells"),
    Elsewhere("simulation/*.py", ("simulation/test_result.py",), "tested through results"),
    Elsewhere("experiments/data/*.py", ("experiments/test_data.py",), "one test for all data sets"),
    Elsewhere("experiments/*.py", ("experiments/test_run.py",), "every experiment, smallest size"),
    Elsewhere("parts/noises/*.py", ("parts/test_noises.py", LAWS), "one kind of part"),
    Elsewhere("parts/arms/*.py", ("parts/test_arms.py", LAWS), "one kind of part"),
    Elsewhere("parts/filters/*.py", ("parts/test_filters.py", LAWS), "one kind of part"),
    Elsewhere("parts/worlds/*.py", ("parts/test_worlds.py",), "one loop with a naive twin"),
    Elsewhere("parts/policies/*.py", ("parts/test_randomised.py", LAWS), "one kind of part"),
    Elsewhere(
        "parts/*/*.py",
        ("algorithms/test_catalogue.py", "algorithms/test_robust.py", LAWS),
        "compared with the textbook twins of the algorithms that use them",
    ),
    Elsewhere("parts/registry.py", ("laws/test_registry.py",), "a rule for all parts"),
    Elsewhere(
        "algorithms/theory/*.py", ("algorithms/test_theory.py",), "one test for all theorems"
    ),
    Elsewhere("algorithms/*.py", ("algorithms/test_catalogue.py",), "rows of one table"),
    Elsewhere("gpu/*.py", ("gpu/test_team.py", "gpu/test_supported.py"), "lanes of one team"),
    Elsewhere("core/projection.py", ("core/test_linalg.py",), "linear algebra"),
    Elsewhere("core/order_statistics.py", ("core/test_linalg.py",), "linear algebra"),
    Elsewhere("core/jit.py", ("core/test_vectorised.py",), "what the decorators promise"),
    Elsewhere("core/numba_errors.py", ("core/test_dry_run.py",), "messages about own parts"),
    Elsewhere("core/compile.py", ("core/test_cache.py", "cli/test_compile.py"), "needs the cache"),
    Elsewhere("core/conformance.py", ("core/test_part.py",), "validation of parts"),
    Elsewhere("core/*.py", (LAWS, "simulation/test_run.py"), "the loop and what every part uses"),
]
MODULES = sorted(str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py"))


def own_tests(module: str) -> str:
    """Return where the tests of a module are by its name."""
    folder, _, name = module.rpartition("/")
    return f"{folder}/test_{name}".lstrip("/")


def row_of(module: str) -> Elsewhere | None:
    """Return the first row that matches a module."""
    return next((row for row in ELSEWHERE if fnmatch(module, row.modules)), None)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_has_tests_of_its_name_or_a_row_that_says_where(module):
    if not (TESTS / own_tests(module)).exists():
        row = row_of(module)
        assert row is not None, f"{module} has neither {own_tests(module)} nor a row in ELSEWHERE"
        assert row.reason


def test_no_row_is_out_of_date():
    for row in ELSEWHERE:
        assert [module for module in MODULES if row_of(module) == row], row
        assert [name for name in row.tests if not (TESTS / name).exists()] == [], row
