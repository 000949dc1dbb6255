"""Files are replaced at once or not at all, and stay what they were to everybody else."""

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

import heavybandits as hb
from failing import Failing, calls_of
from heavybandits._utils.files import check_target, replace_atomically


def save(path: Path, text: str = "new") -> None:
    replace_atomically(path, lambda target: target.write_text(text))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask():
    before = os.umask(0o027)
    yield 0o027
    os.umask(before)


# ---- D8


def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path, umask):
    save(tmp_path / "new")
    assert mode(tmp_path / "new") == 0o666 & ~umask


def test_the_umask_of_the_process_is_never_touched(tmp_path, monkeypatch):
    """D8: it was 0 for a moment, and 40 of 92 579 files of another thread came out 0666."""
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("umask was called"))
    save(tmp_path / "new")
    save(tmp_path / "new")


@pytest.mark.parametrize("before", [0o600, 0o640, 0o444, 0o755])
def test_a_replaced_file_keeps_its_mode(tmp_path, before):
    """D8: 0600 became 0644, so that others could read it."""
    path = tmp_path / "state"
    path.write_text("old")
    path.chmod(before)
    seen = []

    def write(target: Path) -> None:
        seen.append(mode(target))
        target.write_text("new")

    replace_atomically(path, write)
    assert (path.read_text(), mode(path)) == ("new", before)
    assert seen == [0o600]  # nobody can look on while it is written


def test_a_link_stays_a_link_and_its_target_is_replaced(tmp_path):
    """D8: the link itself was replaced, and the file it led to stayed old."""
    (tmp_path / "there").mkdir()
    target, link, further = tmp_path / "there" / "file", tmp_path / "link", tmp_path / "further"
    target.write_text("old")
    link.symlink_to(target)
    further.symlink_to("link")
    save(further)
    assert (target.read_text(), os.readlink(link), os.readlink(further)) == (
        "new",
        str(target),
        "link",
    )
    target.unlink()
    save(link, "again")
    assert target.read_text() == "again"
    assert sorted(tmp_path.rglob("*")) == sorted([target.parent, target, link, further])


def pipe(path: Path) -> None:
    os.mkfifo(path)


def loop(path: Path) -> None:
    path.symlink_to(path)


@pytest.mark.parametrize(
    ("make", "kind"), [(Path.mkdir, "a folder"), (pipe, "a pipe"), (loop, "a link to itself")]
)
def test_what_is_no_file_is_not_replaced(tmp_path, make, kind):
    """D8: as root, `--out /dev/full` replaced the device."""
    path = tmp_path / "odd"
    make(path)
    before = path.lstat()
    with pytest.raises(
        hb.InvalidInputError, match=f"odd is {kind}, and only a file can be replaced"
    ):
        save(path)
    assert path.lstat() == before
    assert list(tmp_path.iterdir()) == [path]


def test_devices_are_not_replaced():
    for device in ("/dev/null", "/dev/full"):
        with pytest.raises(hb.InvalidInputError, match=f"{device} is a device"):
            check_target(device)


def test_threads_that_save_the_same_file_leave_one_whole_file(tmp_path):
    path = tmp_path / "state"
    texts = [str(i) * 10_000 for i in range(8)]
    threads = [threading.Thread(target=save, args=(path, text)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() in texts
    assert list(tmp_path.iterdir()) == [path]


# ---- every call fails in turn


@pytest.mark.parametrize("old", [None, "old"])
@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EACCES])
def test_whichever_call_fails_an_error_means_that_nothing_changed(tmp_path, old, lasting, code):
    """SQLite's method: count the calls that touch the disk, then fail the k-th for every k.

    D13: "changed nothing on the disk" was false in 12 of 1 930 failed calls.
    """
    path = tmp_path / "state"

    def restore() -> None:
        for left in tmp_path.iterdir():
            left.unlink()
        if old is not None:
            path.write_text(old)

    restore()
    total = calls_of(lambda: save(path))
    assert total >= 8  # look, make, close, open, write, open, flush, rename, then the folder
    outcomes = {"refused": 0, "done": 0}
    for k in range(total):
        restore()
        outcome = "done"
        with Failing(k, code, lasting):
            try:
                save(path)
            except OSError:
                outcome = "refused"
        held = path.read_text() if path.exists() else None
        assert held == ("new" if outcome == "done" else old)
        assert [p for p in tmp_path.iterdir() if p != path] == []
        outcomes[outcome] += 1
    assert min(outcomes.values()) > 0
