"""Runs each example as two processes and checks what they print, and the transport they ran on.

usage: run_examples.py TRANSPORT FOLDER NAME...
"""

import functools
import http.client
import os
import random
import re
import signal
import subprocess
import sys
import tempfile

LIMIT = 60  # seconds for anything to end


def check(holds, what):
    if not holds:
        raise SystemExit("run_examples: " + what)


def environment(transport):
    changed = dict(os.environ)
    changed["SMC_TRANSPORTS"] = "tcp" if transport == "tcp" else transport + ",tcp"
    return changed


class Server:
    """An example's server on a free port; its port is what its first line says."""

    def __init__(self, env, *command):
        self.process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.fullmatch(r"listening on port (\d+)\n", line)
        check(found, f"{command[0]} said {line!r} instead of its port")
        self.port = found.group(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(LIMIT)
        self.process.stdout.close()

    def end(self, interrupt):
        """Waits for the end, after an interrupt if it serves for ever; returns the rest of its output."""
        if interrupt:
            self.process.send_signal(signal.SIGINT)
        output, _ = self.process.communicate(timeout=LIMIT)
        check(self.process.returncode == 0, f"server ended with {self.process.returncode}")
        return output.splitlines()


def client(env, *command):
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, timeout=LIMIT)
    check(done.returncode == 0, f"{' '.join(command)} ended with {done.returncode}")
    return done.stdout.splitlines()


def echo(expected, env, transport, program):
    with Server(env, program, "server", "0") as server:
        for _ in range(2):
            lines = client(env, program, "client", "127.0.0.1", server.port)
            check(lines == ["transport " + transport] + expected, f"{program}: {lines}")
        lines = server.end(interrupt=True)
        check(lines == ["transport " + transport] * 2, f"{program}, server: {lines}")


def transfer(env, transport, program):
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "source"), os.path.join(folder, "target")
        for size in (0, 1, 5_000_003):
            content = random.Random(size).randbytes(size)
            with open(source, "wb") as out:
                out.write(content)
            with Server(env, program, "server", "0", target) as server:
                lines = client(env, program, "client", "127.0.0.1", server.port, source)
                check(lines == ["transport " + transport, f"sent {size} bytes"], f"{program}: {lines}")
                lines = server.end(interrupt=False)
                check(lines == ["transport " + transport, f"received {size} bytes"], f"{program}, server: {lines}")
            with open(target, "rb") as arrived:
                check(arrived.read() == content, f"{program}: {size} bytes arrived changed")


def deadlines(env, transport, program):
    with Server(env, program, "server", "0") as server:
        command = [program, "client", "127.0.0.1", server.port]
        asking = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
        try:
            lines = []
            while "waiting" not in lines:
                line = asking.stdout.readline()
                check(line, f"{program}: ended after {lines}")
                lines.append(line.rstrip("\n"))
            asking.send_signal(signal.SIGINT)
            output, _ = asking.communicate(timeout=LIMIT)
        finally:
            if asking.poll() is None:
                asking.kill()
                asking.wait(LIMIT)
        check(asking.returncode == 0 and output == "cancelled\n", f"{program}: {lines}, {output!r}")
        text = "all good things come to those who wait"
        check(lines[0] == "transport " + transport, f"{program}: {lines}")
        check(lines[-3:] == [f"complete: {len(text)} bytes", text, "waiting"], f"{program}: {lines}")
        counts = [int(re.fullmatch(r"timed out with (\d+) bytes", line).group(1)) for line in lines[1:-3]]
        # On a busy machine more than once, and maybe before the first half came.
        check(counts and counts == sorted(counts) and counts[-1] < len(text), f"{program}: {lines}")
        check(server.end(interrupt=False) == [], f"{program}, server said something")


def rules(env, transport, program):
    shared = transport + ("" if transport == "tcp" else ", rings of 1024 KiB")
    plain = ["client: tcp", "server: tcp"]
    if transport != "tcp":
        plain[0] += ", because: the configuration allows no faster transport for this connection"
        plain[1] += ", because: the peer did not offer a faster transport"
    with Server(env, program, "server", "0") as server:
        for host, expected in (("127.0.0.1", ["client: " + shared, "server: " + shared]), ("127.0.0.2", plain)):
            lines = client(env, program, "client", host, server.port)
            check(lines == expected, f"{program}, {host}: {lines}")
        server.end(interrupt=True)


def statistics(env, transport, program):
    with Server(env, program, "server", "0") as server:
        lines = client(env, program, "client", "127.0.0.1", server.port, "3")
        check(lines[0] == "transport " + transport, f"{program}: {lines}")
        check(lines[1].startswith(f"sent {3 << 20} bytes in "), f"{program}: {lines}")
        check(("larger than the ring" in lines[1]) == (transport != "tcp"), f"{program}: {lines}")
        check(lines[2].startswith("received 0 bytes in 0 requests, "), f"{program}: {lines}")
        check(lines[4:] == [transport + ": 1 connections, 1 of them open"], f"{program}: {lines}")
        check(len(server.end(interrupt=True)) == 1, f"{program}, server")
    plain = dict(env, SMC_TRANSPORTS="tcp")
    with Server(plain, program, "server", "0") as server:
        lines = client(env, program, "client", "127.0.0.1", server.port, "1")
        reasons = [] if transport == "tcp" else ["1 fell back to TCP: no SMC listener is announced at the destination"]
        check([line.split(";")[0] for line in lines[5:]] == reasons, f"{program}, falling back: {lines}")


def chat(env, transport, program):
    with Server(env, program, "server", "0") as server:
        guests = []

        def come(name):
            guests.append(subprocess.Popen([program, "client", "127.0.0.1", server.port, name], env=env, text=True,
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE))
            line = guests[-1].stdout.readline()
            check(line == f"you came over {transport}\n", f"{program}: {line!r}")
            return guests[-1]

        def say(guest, line):
            guest.stdin.write(line + "\n")
            guest.stdin.flush()

        try:
            ada, bob, eve = come("Ada"), come("Bob"), come("Eve")
            say(bob, "I am here")
            heard = {ada.stdout.readline(), eve.stdout.readline()}
            check(heard == {"Bob: I am here\n"}, f"{program}: {heard}")
            say(eve, "so am I")
            heard = {ada.stdout.readline(), bob.stdout.readline()}
            check(heard == {"Eve: so am I\n"}, f"{program}: {heard}")
            bob.stdin.close()  # leaves
            check(bob.wait(LIMIT) == 0, f"{program}: a client that leaves ended with {bob.returncode}")
            say(ada, "welcome")
            check(eve.stdout.readline() == "Ada: welcome\n", f"{program}: the others do not go on")
            server.end(interrupt=True)
            for guest in (ada, eve):  # the server's end is theirs
                check(guest.wait(LIMIT) == 0, f"{program}: a client ended with {guest.returncode}")
        finally:
            for guest in guests:
                if guest.poll() is None:
                    guest.kill()
                guest.wait(LIMIT)
                guest.stdout.close()


def http_server(env, transport, program):
    with Server(env, program, "server", "0") as server:
        browser = http.client.HTTPConnection("127.0.0.1", int(server.port), timeout=LIMIT)

        def ask(method, path):
            browser.request(method, path)
            answer = browser.getresponse()
            return answer.status, answer.read().decode()

        check(ask("GET", "/") == (200, "hello over tcp\n"), f"{program}: GET")
        kept = browser.sock
        check(ask("HEAD", "/") == (200, ""), f"{program}: HEAD")
        check(ask("GET", "/nowhere") == (404, "there is only /\n"), f"{program}: another path")
        check(browser.sock is kept, f"{program}: does not keep the connection")
        check(ask("POST", "/") == (405, "GET and HEAD only\n"), f"{program}: POST")
        browser.close()
        lines = client(env, program, "client", "127.0.0.1", server.port)
        check(lines[0] == "HTTP/1.1 200 OK" and lines[-1] == "hello over " + transport, f"{program}: {lines}")
        server.end(interrupt=True)


def tls_echo(env, transport, program):
    with Server(env, program, "server", "0") as server:
        for _ in range(2):
            lines = client(env, program, "client", "127.0.0.1", server.port)
            check(lines == ["TLSv1.3 over " + transport, "echoed nobody but us"], f"{program}: {lines}")
        server.end(interrupt=True)


CHECKS = {
    "echo_coroutines": functools.partial(echo, ["echoed hello", "echoed shared memory", "echoed goodbye"]),
    "echo_callbacks": functools.partial(echo, ["echoed hello"]),
    "file_transfer": transfer,
    "deadlines": deadlines,
    "rules": rules,
    "statistics": statistics,
    "chat": chat,
    "http_server": http_server,
    "tls_echo": tls_echo,
}
FURTHER_ARGUMENTS = {"file_transfer": [os.devnull], "statistics": ["1"], "chat": ["Ada"]}


def main():
    transport, folder, *names = sys.argv[1:]
    env = environment(transport)
    for name in names:
        program = os.path.join(folder, name)
        CHECKS[name](env, transport, program)
        wrong = subprocess.run([program], env=env, stderr=subprocess.PIPE, text=True, timeout=LIMIT)
        check(wrong.returncode == 2 and wrong.stderr.startswith("usage:"), f"{program} without arguments")
        refused = subprocess.run([program, "client", "127.0.0.1", "1"] + FURTHER_ARGUMENTS.get(name, []),
                                 env=env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=LIMIT)
        check(refused.returncode == 1 and refused.stderr, f"{program}, nobody listens: {refused.returncode}")
    print("run_examples: ok on " + transport)


main()
