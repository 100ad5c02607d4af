"""`python -m vllm_mindspore.entrypoints MODULE --port PORT`: a server of one worker, with the
profiling that vLLM MindSpore's worker has.

The profiler is made once the model is there, with Level1, stacks, and both activities, while the
variable that names the folder is out of the environment; stopping it runs offline_analyse in a
child process, and is waited for.
"""

import http.server
import json
import os
import subprocess
import sys

import decoder
from mindspore import Profiler
from mindspore.profiler import ProfilerActivity, ProfilerLevel

ANALYSE = "import sys; from mindspore import Profiler; Profiler.offline_analyse(sys.argv[1])"


class AdapterProfiler:
    """As the worker's."""

    def __init__(self, folder):
        self.profiler = Profiler(
            profiler_level=ProfilerLevel.Level1,
            activities=[ProfilerActivity.CPU, ProfilerActivity.NPU],
            with_stack=os.environ.get("VLLM_TORCH_PROFILER_WITH_STACK", "1") != "0",
            output_path=folder,
            start_profile=False,
            mstx=False,
        )

    def start(self):
        self.profiler.start()

    def stop(self):
        self.profiler.stop()
        from mindspore.profiler.common.profiler_context import ProfilerContext

        folder = ProfilerContext().ascend_ms_dir
        subprocess.run([sys.executable, "-c", ANALYSE, folder], check=True)


class Worker:
    def __init__(self):
        folder = os.environ.pop("VLLM_TORCH_PROFILER_DIR", None)
        self.net, self.ids = decoder.make()
        self.profiler = None
        if folder is not None:
            os.environ["VLLM_TORCH_PROFILER_DIR"] = folder
            print(f"Profiling enabled. Traces will be saved to: {folder}", flush=True)
            self.profiler = AdapterProfiler(folder)

    def generate(self):
        return float(self.net(self.ids).asnumpy().sum())


class Handler(http.server.BaseHTTPRequestHandler):
    worker = None

    def do_POST(self):
        if self.path == "/start_profile":
            answer = self.worker.profiler.start()
        elif self.path == "/stop_profile":
            answer = self.worker.profiler.stop()
        else:
            answer = self.worker.generate()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_):
        pass


def main():
    Handler.worker = Worker()
    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    print(f"listening on {server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
