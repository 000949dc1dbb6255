"""Files are replaced at once or not at all, and stay what they were to everybody else."""

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

import heavybandits as hb
from failing import Failing, calls_of
from heavybandits._utils.files import check_target, open_in_place, place_new, replace_atomically


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


def test_nothing_is_written_through_a_link(tmp_path):
    """F17: a link in place of a file led to another file, which was overwritten."""
    target, link, nowhere = tmp_path / "file", tmp_path / "link", tmp_path / "nowhere"
    target.write_text("old")
    link.symlink_to(target)
    nowhere.symlink_to(tmp_path / "none")
    for path, leads in ((link, target), (nowhere, tmp_path / "none")):
        with pytest.raises(hb.InvalidInputError, match=f"{path} is a link to {leads}, and nothing"):
            save(path)
        with pytest.raises(hb.InvalidInputError, match="name that file instead"):
            open_in_place(path)
    assert target.read_text() == "old"
    assert sorted(tmp_path.iterdir()) == sorted([target, link, nowhere])


def test_a_folder_may_be_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "folder").symlink_to("there")
    save(tmp_path / "folder" / "file")
    assert (tmp_path / "there" / "file").read_text() == "new"


def test_another_name_of_a_file_keeps_its_contents(tmp_path):
    other, path = tmp_path / "other", tmp_path / "path"
    other.write_text("old")
    path.hardlink_to(other)
    with pytest.raises(hb.InvalidInputError, match="has 2 names"):
        open_in_place(path)
    save(path)
    assert (other.read_text(), path.read_text()) == ("old", "new")


def test_a_file_that_is_written_in_place_is_not_emptied(tmp_path):
    for text in ("", "old"):
        (tmp_path / "lock").write_text(text)
        os.close(open_in_place(tmp_path / "lock"))
        assert (tmp_path / "lock").read_text() == text


@pytest.mark.parametrize("ending", ["", "-head", "-wal"])
def test_no_file_of_a_ledger_is_replaced(tmp_path, ending):
    for end in ("", "-head", "-wal"):
        (tmp_path / f"agent.db{end}").write_text("events")
    with pytest.raises(hb.InvalidInputError, match="must not be a file of a ledger"):
        save(tmp_path / f"agent.db{ending}")
    save(tmp_path / "agent.db-notes")


@pytest.mark.parametrize("links", [True, False])
def test_a_new_file_takes_no_name_that_is_taken(tmp_path, monkeypatch, links):
    if not links:
        monkeypatch.setattr(os, "link", Failing(0, errno.EPERM)._wrapped(os.link, "link"))
    made, taken, free = tmp_path / "made", tmp_path / "taken", tmp_path / "free"
    made.write_text("new")
    taken.symlink_to("elsewhere")
    with pytest.raises(FileExistsError):
        place_new(made, taken)
    if not links:
        monkeypatch.setattr(os, "link", Failing(0, errno.EPERM)._wrapped(os.link, "link"))
    place_new(made, free)
    assert (free.read_text(), os.readlink(taken)) == ("new", "elsewhere")
    assert sorted(tmp_path.iterdir()) == [free, taken]


def pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize(("make", "kind"), [(Path.mkdir, "a folder"), (pipe, "a pipe")])
def test_what_is_no_file_is_not_replaced(tmp_path, make, kind):
    """D8: as root, `--out /dev/full` replaced the device."""
    path = tmp_path / "odd"
    make(path)
    before = path.lstat()
    for write in (save, open_in_place):
        with pytest.raises(
            hb.InvalidInputError, match=f"odd is {kind}, and only a file can be written"
        ):
            write(path)
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
