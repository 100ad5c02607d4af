"""Options of ``sonde run`` hold in a program that profiles itself, and in a server."""

import pytest
from sonde._inject import _options, _stand_in
from sonde._inject._options import Options

torch = pytest.importorskip("torch")


@pytest.fixture(name="windows")
def make_windows(monkeypatch, tmp_path):
    """windows(options, ...) is what a program gets for torch.profiler.profile(...)."""
    for name in ("options", "owner", "serves"):
        monkeypatch.setattr(_stand_in.TorchProfile, name, getattr(_stand_in.TorchProfile, name))
    monkeypatch.chdir(tmp_path)

    def make(options, serves=False, **parameters):
        _stand_in.TorchProfile.options, _stand_in.TorchProfile.serves = options, serves
        return _stand_in.TorchProfile(**parameters)._settings()

    return make


@pytest.mark.parametrize("serves", [False, True])
def test_what_the_command_line_says(windows, serves, tmp_path):
    options = Options(
        level="level1", export_type=["text", "db"], data_simplification=True, gc_threshold_ms=2.5,
        with_stack=True, save_path=str(tmp_path),
    )  # fmt: skip
    cpu = torch.profiler.ProfilerActivity.CPU
    for parameters in ({}, {"activities": [cpu]}, {"activities": {cpu}}):
        settings = windows(options, serves, **parameters)
        experimental = settings.config["experimental_config"]
        assert settings.gc_threshold_ms == experimental["_gc_detect_threshold"] == 2.5
        assert experimental["_export_type"] == ["text", "db"]
        assert experimental["_data_simplification"] is True
        assert experimental["_profiler_level"] == "Level1"
        assert settings.with_stack
        options.with_cpu = False
        common = windows(options, serves, **parameters).config["common_config"]
        assert common["activities"] == ["ProfilerActivity.NPU"], parameters
        options.with_cpu = True


def test_what_it_leaves_open(windows, tmp_path):
    settings = windows(Options(save_path=str(tmp_path)), activities=[])
    assert settings.gc_threshold_ms is None
    assert settings.config["experimental_config"]["_export_type"] == ["text"]
    settings = windows(Options(save_path=str(tmp_path)))
    assert "ProfilerActivity.CPU" in settings.config["common_config"]["activities"]


class Owner:
    """As the run of a process, which takes down what is recorded."""

    def __init__(self):
        self.began = []

    def wants_this_rank(self):
        return True

    def yield_to_program(self):
        """Nothing else records."""

    def window_began(self, path):
        self.began.append(path)


def test_steps_of_a_window_without_a_schedule(monkeypatch, tmp_path, capsys):
    """A worker of a server calls step() before it starts and after it stopped: torch's counts."""
    owner = Owner()
    for name, value in (("owner", owner), ("serves", True),
                        ("options", Options(save_path=str(tmp_path), analyse=False))):  # fmt: skip
        monkeypatch.setattr(_stand_in.TorchProfile, name, value)
    window = _stand_in.TorchProfile()
    window.step()
    assert owner.began == [] and window.profiler is None
    window.start()
    window.step()
    window.stop()
    window.step()
    assert len(owner.began) == 1 and window.step_num == 3
    assert "takes no effect" not in capsys.readouterr().out


@pytest.mark.parametrize(("text", "seconds"), [("30", 30), ("0", 0), ("-1", 0), ("soon", 0)])
def test_the_last_seconds(monkeypatch, text, seconds):
    monkeypatch.setenv("SONDE_KEEP_LAST_SECONDS", text)
    printed = []
    assert _options.read(printed.append).keep_last_s == seconds
    assert len(printed) == (text in ("-1", "soon"))


TURNS = """
import sys, time, torch
from torch.profiler import record_function
end = time.monotonic() + float(sys.argv[1])
turn = 0
while time.monotonic() < end:
    with record_function(f"turn {turn}"):
        torch.ones(64).add(1)
    turn += 1
    time.sleep(0.05)
print(turn)
"""


def test_a_flight_recorder_from_the_start(run_hooked, tmp_path):
    """The last second of six, not the first: a segment is as long as a part of what is kept."""
    (tmp_path / "turns.py").write_text(TURNS)
    import capture_reader

    done = run_hooked("turns.py", 6, SONDE_KEEP_LAST_SECONDS="1")
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "captures").glob("*_ascend_pt")
    turns = {int(record.name.split()[1]) for record in capture_reader.read(folder).records
             if record.name.startswith("turn ")}  # fmt: skip
    last = int(done.stdout) - 1
    assert last in turns and 0 not in turns
    assert last / 6 * 0.8 <= len(turns) <= last / 6 * 3, (sorted(turns), last)
