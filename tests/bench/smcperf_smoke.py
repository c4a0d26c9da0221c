"""Runs smcperf's server and every kind of client with a little work; checks the JSON rows and the exit codes.

usage: smcperf_smoke.py SMCPERF
"""

import json
import re
import signal
import subprocess
import sys

LIMIT = 60  # seconds for anything to end
SMCPERF = sys.argv[1]


def check(holds, what):
    if not holds:
        raise SystemExit("smcperf_smoke: " + what)


class Server:
    def __init__(self, *arguments):
        self.process = subprocess.Popen([SMCPERF, "server", "--port", "0", *arguments], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.fullmatch(r"smcperf server listening on 0\.0\.0\.0:(\d+)\n", line)
        check(found, f"the server said {line!r}")
        self.port = found.group(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(LIMIT)
        self.process.stdout.close()

    def end(self, interrupt=True):
        if interrupt:
            self.process.send_signal(signal.SIGTERM)
        check(self.process.wait(LIMIT) == 0, f"the server ended with {self.process.returncode}")


def client(port, kind, *arguments, code=0):
    command = [SMCPERF, kind, "127.0.0.1", "--port", port, "--json", "--warmup", "10ms", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT)
    check(done.returncode == code, f"{' '.join(command)} ended with {done.returncode}, not {code}: {done.stderr}")
    return (json.loads(done.stdout) if done.stdout else None), done.stderr


def check_row(row, kind, count, transport):
    for field in ("size", "mode", "executor", "threads", "seconds", "bytes", "ring", "fallback_reasons"):
        check(field in row, f"{kind}: no {field} in {row}")
    check(row["schema"] == "smcperf-1" and row["kind"] == kind, f"{kind}: {row}")
    check(row["operations"] == count, f"{kind}: {row['operations']} operations, not {count}")
    check(row["operations_per_second"] > 0 and row["seconds"] > 0, f"{kind}: no rate in {row}")
    check(row["transport"] == transport, f"{kind}: on {row['transport']}, not {transport}")
    check(row["transports"] == {transport: row["connections"]}, f"{kind}: {row['transports']}")
    check(row["topology"]["label"] in ("near", "far", "one-cpu"), f"{kind}: {row['topology']}")
    check(isinstance(row["topology"]["changed"], bool), f"{kind}: {row['topology']}")
    cpu = row["cpu_us_per_operation"]
    check(abs(cpu["both"] - cpu["client"] - cpu["server"]) < 1e-6, f"{kind}: {cpu}")
    if kind in ("stream", "rate"):
        check(row["latency_us"] is None, f"{kind}: {row['latency_us']}")
    else:
        p = row["latency_us"]
        check(0 < p["min"] <= p["p50"] <= p["p90"] <= p["p99"] <= p["p99.9"] <= p["max"], f"{kind}: {p}")


WORK = [  # kind, count, arguments, bytes of one operation
    ("latency", 200, [], 200),
    ("latency", 50, ["--size", "3K", "--whole"], 6144),
    ("latency", 50, ["--executor", "io_context"], 200),
    ("stream", 200, ["--size", "64K"], 65536),
    ("stream", 20, ["--size", "1M", "--whole"], 1 << 20),
    ("rate", 1000, [], 100),
    ("rate", 1000, ["--connections", "3", "--threads", "2"], 100),
    ("rr", 500, ["--connections", "7", "--threads", "2", "--size", "128"], 256),
    ("connect", 100, ["--in-flight", "3"], 0),
    ("connect", 100, ["--request", "--size", "1K"], 1024),
]
ZERO_COPY = [
    ("latency", 20, ["--zero-copy"], 200),
    ("stream", 5, ["--zero-copy", "--size", "4K"], 4096),
]


def every_kind(transport):
    with Server("--threads", "2", "--transport", transport) as server:
        for kind, count, arguments, size in WORK + ZERO_COPY:
            row, _ = client(server.port, kind, "--count", str(count), "--transport", transport, *arguments)
            check_row(row, kind, count, transport)
            check(row["bytes"] == count * size, f"{kind}: {row['bytes']} bytes")
            check((row["ring"] > 0) == (transport != "tcp" and kind != "connect"), f"{kind}: ring {row['ring']}")
        server.end()


def clients_that_come_at_once_meet_several_loops():
    """Their connections are answered before it is known which loop gets which."""
    with Server("--threads", "2", "--transport", "smc-d") as server:
        for _ in range(100):
            client(server.port, "rr", "--count", "200", "--transport", "smc-d", "--connections", "7", "--threads", "2")
        server.end()


def automatic_takes_any():
    with Server("--transport", "tcp", "--one-off") as server:
        row, _ = client(server.port, "latency", "--time", "50ms")
        check(row["transport"] == "tcp" and row["fallback_reasons"], f"no reason for TCP in {row}")
        server.end(interrupt=False)


def what_was_asked_for_is_not_had():
    with Server("--transport", "tcp") as server:
        for kind in ("latency", "stream", "rate", "rr", "connect"):
            row, said = client(server.port, kind, "--count", "10", "--transport", "smc-d", code=3)
            check(row["error"]["reason"] and row["error"]["reason"] in said, f"{kind}: no reason in {row}, {said}")
            check(row["transport"] == "tcp", f"{kind}: {row}")
        server.end()


def bare_sockets():
    with Server("--bare", "--executor", "io_context") as server:
        for kind, count, arguments, _ in WORK:
            row, _ = client(server.port, kind, "--count", str(count), "--bare", *arguments)
            check_row(row, kind, count, "tcp")
            check(row["sockets"] == "asio" and not row["fallback_reasons"], f"{kind}: {row}")
        server.end()


def mistakes():
    client("0", "latency", "--size", "0", code=2)
    client("0", "latency", "--transport", "telepathy", code=2)
    client("0", "latency", "--bare", "--transport", "smc-d", code=2)
    row, said = client("1", "latency", code=1)
    check(row["error"]["message"] in said, "nobody listens, nobody says so")


every_kind("tcp")
every_kind("smc-d")
clients_that_come_at_once_meet_several_loops()
automatic_takes_any()
what_was_asked_for_is_not_had()
bare_sockets()
mistakes()
print("smcperf_smoke: ok")
