"""Runs the demo in very short slices: the shape of what it prints, and that its exit code and its sentence agree.

usage: demo_smoke.py SMC_DEMO
"""

import json
import os
import subprocess
import sys

LIMIT = 90  # seconds


def check(holds, what):
    if not holds:
        raise SystemExit("demo_smoke: " + what)


def demo(*arguments, **environment):
    done = subprocess.run([sys.argv[1], "--time", "20ms", *arguments], env={**os.environ, **environment},
                          stdout=subprocess.PIPE, text=True, timeout=LIMIT)
    return done.returncode, done.stdout


def transports():
    code, out = demo("--pairs", "2", "--limit", "20s", "--json", "--judge")
    result = json.loads(out)
    check(code == (0 if result["won"] else 1), f"exit code {code} for {result['sentence']}")
    works = {pair["work"] for pair in result["pairs"]}
    check(len(works) == 7, f"works: {works}")
    for pair in result["pairs"]:
        check([row["transport"] for row in pair["rows"]] == ["tcp", "smc-d"], f"transports of {pair['work']}")
        check(pair["topology"] in ("near", "far", "one-cpu", "changed"), pair["topology"])
    for line in result["lines"]:
        check(line["ratio"] > 0 and line["pairs"] > 0, str(line))


def table():
    code, out = demo("--pairs", "1", "--limit", "20s")
    check(code == 0, f"exit code {code}, whoever was faster")
    check("CPUs before:" in out and "CPUs after:" in out, "no topology in:\n" + out)


def fallback():
    # The server takes its transports from the environment, the client asks for SMC-D by program.
    code, out = demo("--pairs", "1", SMC_TRANSPORTS="tcp")
    check(code == 3 and "SMC-D was not used" in out, f"exit code {code}:\n" + out)


def baseline():
    code, out = demo("--baseline", "asio", "--pairs", "2", "--json", "--judge")
    result = json.loads(out)
    check(code == (0 if result["holds"] else 1), f"exit code {code} for {result['sentence']}")
    for round_ in result["rounds"]:
        check([row["sockets"] for row in round_["rows"]] == ["asio", "smc", "asio"], str(round_["work"]))
        check(all(row["transport"] == "tcp" for row in round_["rows"]), str(round_["work"]))


transports()
table()
fallback()
baseline()
print("demo_smoke: ok")
