"""The contract of `PolicySource`, run against every adapter that claims to be one."""

import os
import threading

import pytest

from avow.adapters import policy_files
from avow.adapters.policy_files import PolicyFile, Preset
from avow.core.errors import MalformedError
from avow.core.policy import Policy

OWN = 'extends = "default"\nname = "own"\nversion = "{version}"\n'


def quiet(_origin, _error):
    """Ignore the alarm."""


def preset(_tmp_path):
    return Preset("default")


def file(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text(OWN.format(version=1))
    return PolicyFile(path, quiet)


@pytest.mark.parametrize("make", [preset, file])
def test_it_gives_a_policy_and_the_same_one_again(make, tmp_path):
    """While nothing changes, the very same policy is in force."""
    source = make(tmp_path)
    assert isinstance(source.current(), Policy)
    assert source.current() is source.current()


BROKEN = [
    *("", "name = ", "\xff", 'extends = "nothing"', "a = [" * 5000, "a = " + "9" * 5000),
    *('extends = "default"\n[[rules]]\nid = ["a"]\n', ".".join("a" * 3000) + " = 1"),
    'extends = "default"\n[[rules' + ".when.all" * 300 + "]]\nfield = 1\n",
    'extends = ["default"]',
]


@pytest.mark.parametrize("content", [None, *BROKEN])
def test_it_raises_at_the_start_if_there_is_no_good_policy(content, tmp_path):
    """A missing, empty, broken or dangling file refuses to start."""
    path = tmp_path / "policy.toml"
    if content is not None:
        path.write_bytes(content.encode("latin-1"))
    with pytest.raises(MalformedError):
        PolicyFile(path, quiet)


@pytest.mark.clause("IRL-6.12")
def test_a_good_change_is_in_force_at_the_next_call(tmp_path):
    """Each new content counts, also when the file is replaced by a rename."""
    path = tmp_path / "policy.toml"
    source = file(tmp_path)
    for version in (2, 3):
        path.write_text(OWN.format(version=version))
        assert source.current().version == str(version)
    other = tmp_path / "other.toml"
    other.write_text(OWN.format(version=4))
    other.replace(path)
    assert source.current().version == "4"


@pytest.mark.clause("IRL-6.12")
@pytest.mark.parametrize("broken", [*BROKEN[:2], *BROKEN[4:], 'name = "x"', None, "softer"])
def test_a_bad_change_keeps_the_last_good_policy_and_is_reported_once(broken, tmp_path):
    """A broken, softer or vanished file changes nothing, and the alarm sounds once for it."""
    path = tmp_path / "policy.toml"
    path.write_text(OWN.format(version=1))
    heard = []
    source = PolicyFile(path, lambda origin, error: heard.append((origin, error.code)))
    good = source.current()
    if broken is None:
        path.unlink()
    elif broken == "softer":
        path.write_text(OWN.format(version=2) + "[points]\nproduction = 1\n")
    else:
        path.write_text(broken)
    assert source.current() is good
    assert source.current() is good
    assert len(heard) == 1
    assert heard[0][0] == str(path)
    path.write_text(OWN.format(version=5))
    assert source.current().version == "5"


def test_a_rewrite_with_an_old_time_is_noticed(tmp_path):
    """Content of the same size with the same modification time still counts."""
    path = tmp_path / "policy.toml"
    source = file(tmp_path)
    before = path.stat()
    path.write_text(OWN.format(version=2))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert source.current().version == "2"


def test_a_name_that_no_file_can_have():
    """A path with a zero byte is a policy that is not there."""
    with pytest.raises(MalformedError):
        policy_files.named("a\0b")


def test_a_file_written_to_while_it_is_read_is_not_taken(tmp_path, monkeypatch):
    """Content that changed under the reader is dropped, and read again at the next call."""
    path = tmp_path / "policy.toml"
    source = file(tmp_path)
    path.write_text(OWN.format(version=2))
    real = policy_files.load

    def interrupted(found):
        loaded = real(found)
        path.write_text(OWN.format(version=33))
        return loaded

    monkeypatch.setattr(policy_files, "load", interrupted)
    assert source.current().version == "1"
    monkeypatch.setattr(policy_files, "load", real)
    assert source.current().version == "33"


def test_readers_in_many_threads_see_only_whole_policies(tmp_path):
    """While a writer swaps two versions, every reader gets one of the two, complete."""
    path = tmp_path / "policy.toml"
    source = file(tmp_path)
    stop = threading.Event()
    seen, odd = set(), []

    def read():
        while not stop.is_set():
            policy = source.current()
            seen.add(policy.version)
            if len(policy.rules) != 11:
                odd.append(policy)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(60):
        fresh = tmp_path / f"{number}.toml"
        fresh.write_text(OWN.format(version=number))
        fresh.replace(path)
    stop.set()
    for thread in threads:
        thread.join()
    assert not odd
    assert source.current().version == "59"


def test_relaxing_needs_the_switch_in_the_file_itself(tmp_path):
    """A file softer than the built-in policy says so itself; extending one that may is not enough."""
    path = tmp_path / "policy.toml"
    path.write_text('extends = "irl-0.1"\nname = "own"\n')
    with pytest.raises(MalformedError) as caught:
        policy_files.load(path)
    assert caught.value.code == "policy.relaxing"
    path.write_text('extends = "irl-0.1"\nname = "own"\nallow_relaxing = true\n')
    assert "there is no matrix" in policy_files.load(path).relaxes


def test_a_file_that_calls_itself_default_is_compared_all_the_same(tmp_path):
    """The name of the built-in policy gives a file no privilege."""
    path = tmp_path / "policy.toml"
    path.write_text('extends = "default"\n[points]\nproduction = 0\n')
    with pytest.raises(MalformedError):
        policy_files.load(path)


def test_presets_are_found_by_name_and_files_by_path(tmp_path):
    """A preset's name wins; anything else is a path."""
    assert policy_files.named("irl-0.1").name == "irl-0.1"
    assert isinstance(policy_files.source("default", quiet), Preset)
    path = tmp_path / "p.toml"
    path.write_text(OWN.format(version=1))
    assert policy_files.named(str(path)).name == "own"
    assert isinstance(policy_files.source(str(path), quiet), PolicyFile)
    with pytest.raises(MalformedError):
        policy_files.named("nothing")
