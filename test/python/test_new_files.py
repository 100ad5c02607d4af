"""Files that are made where somebody may have planted a link: it leads nowhere."""

import os

import pytest
from sonde._new_file import create_new, going_on


@pytest.fixture(name="victim")
def make_victim(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    return victim


@pytest.mark.parametrize("plant", [os.symlink, os.link])
def test_a_link_is_replaced_by_a_new_file(tmp_path, victim, plant):
    path = tmp_path / "table.csv"
    plant(victim, path)
    with open(path, "w", encoding="utf-8", opener=create_new) as file:
        file.write("text")
    assert (victim.read_text(), path.read_text()) == ("precious", "text")
    assert not path.is_symlink()


def test_a_longer_file_is_replaced_whole(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a longer text")
    with open(path, "w", encoding="utf-8", opener=create_new) as file:
        file.write("text")
    assert path.read_text() == "text"
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()


def test_pipes_and_folders_stay(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(OSError), open(path, "w", encoding="utf-8", opener=create_new):
            pass
    assert (tmp_path / "pipe").is_fifo()


def test_going_on_takes_files_and_no_links(tmp_path, victim):
    path = tmp_path / "log"
    for _ in range(2):
        with open(path, "a", encoding="utf-8", opener=going_on) as file:
            file.write("line\n")
    assert path.read_text() == "line\nline\n"
    (tmp_path / "link").symlink_to(victim)
    with pytest.raises(OSError), open(tmp_path / "link", "a", encoding="utf-8", opener=going_on):
        pass
    assert victim.read_text() == "precious"


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
