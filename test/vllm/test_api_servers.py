"""A server with two API server processes: whoever gets a request to start or to stop."""

import json
import time

from vllm_server import Server

TOKENS = 6


def test_any_of_them_starts_and_stops(sonde, vllm_python, model, tmp_path, rows):
    """The system chooses the process of each connection: six times, so that both get both."""
    launcher = [sonde, "run", "--profile-save-path", tmp_path / "profile", "--"]
    options = ["--api-server-count", "2"]
    with Server(vllm_python, model, tmp_path / "log", launcher, options=options) as server:
        for _ in range(6):
            assert server.profile("start")[0] == 200
            assert server.profile("start")[0] in (200, 409), "each process knows its own only"
            server.ask("import ", TOKENS)
            assert server.profile("stop")[0] == 200
            assert server.profile("stop")[0] == 200  # nothing runs
        end = time.monotonic() + 120
        while server.log.read_text().count("sonde: served:") < 6:
            assert time.monotonic() < end, server.last_lines()
            time.sleep(0.2)
        while server.log.read_text().count("sonde: parsed:") < 6:
            assert time.monotonic() < end, server.last_lines()
            time.sleep(0.2)
        for _ in range(6):
            told = json.loads(server.call("/profile_status")[1])["sessions"]
            assert [one["state"] for one in told] == 6 * ["complete"]
    sessions = sorted((tmp_path / "profile").glob("server_*"))
    assert len(sessions) == 6
    for session in sessions:
        (row,) = rows(session, "SELECT output_tokens, is_whole FROM request")
        assert row == {"output_tokens": TOKENS, "is_whole": 1}
        assert (session / "serving_summary.csv").exists()
