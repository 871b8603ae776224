"""The edge of the soak with all that stands around it, and its clients."""
import json, os, re, shutil, signal, subprocess, threading, time, urllib.request
from datetime import datetime

from common import NGINX, ROOT, certificate, free_port, nginx_conf

RELEASE = os.path.join(ROOT, "target/release")
FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"
GATEWAY_PATH = "/v1/acme/main/openai/v1/chat/completions"
API_TOKEN = "-".join(("svc", "soak", "of", "this", "edge", "alone"))

SCRIPT = """
local n = 0
request = function()
  n = n + 1
  if n % 10 == 0 then return wrk.format("POST", "/api/orders", {["Content-Type"] = "application/json"}, '{"id":' .. n .. ',"note":"leave at the door"}') end
  if n % 5 == 0 then return wrk.format("GET", "/kept/" .. n % 3000) end
  if n % 7 == 0 then return wrk.format("GET", "/page.html?n=" .. n) end
  return wrk.format("GET", "/shop/list?page=" .. n)
end
"""


class Edge:
    """The edge, its two origins and a provider."""

    def __init__(self, servers):
        self.servers, self.folder = servers, servers.folder
        self.port, self.tls, self.dns, self.admin, provider = (free_port() for _ in range(5))
        self.origins = [free_port(), free_port()]
        self.children = {port: self.start_origin(port) for port in self.origins}
        servers.start([f"{RELEASE}/examples/gateway_mock", "serve", f"127.0.0.1:{provider}"], provider)
        certificate(self.folder)
        self.own = f"{self.folder}/edge"
        os.makedirs(self.own)
        self.level, self.provider = 1, provider
        self.write()
        self.set_clock(0)
        conf = f"{self.own}/p.toml"
        create = [f"{RELEASE}/portcullis", "token", "create", "--account", "acme", "--gateway", "main", "--conf", conf]
        self.token = subprocess.run(create, capture_output=True, text=True, check=True).stdout.strip()
        clock = {"LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": f"{self.own}/clock", "FAKETIME_CACHE_DURATION": "1",
                 "FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"}
        self.child = servers.start([f"{RELEASE}/portcullis", "run", "--conf", conf], self.port, log=f"{self.own}/log", more=clock)
        self.ask("/zones", {"name": "soak.example", "account": {"id": "acme"}, "origins": [f"http://127.0.0.1:{self.origins[0]}"]})

    def start_origin(self, port):
        body = (f"server {{ listen 127.0.0.1:{port}; default_type text/html; location / {{ return 200 '<p>a page for ann@example.com, card 4111 1111 1111 1111</p>'; }} }}")
        return self.servers.start([NGINX, "-c", nginx_conf(self.folder, f"origin{port}", body)], port)

    def write(self):
        urls = ", ".join(f'"http://127.0.0.1:{port}"' for port in self.origins)
        with open(f"{self.own}/new.toml", "w") as f:
            f.write(f'''threads = 1
log_level = "warn"
gateway_hosts = ["127.0.0.1"]
[limits]
connections_per_address = 2000
[[listeners]]
address = "127.0.0.1:{self.port}"
[[listeners]]
address = "127.0.0.1:{self.tls}"
http3 = true
certificates = [{{ chain = "{self.folder}/c.pem", key = "{self.folder}/k.pem" }}]
[dns]
listeners = ["127.0.0.1:{self.dns}"]
name_servers = ["ns1.example.net", "ns2.example.net"]
addresses = ["192.0.2.10"]
private_origins = true
rate_limit = 0
[admin]
address = "127.0.0.1:{self.admin}"
api_tokens = ["{API_TOKEN}"]
[access_log]
file = "access.log"
sample_every = 100
[[gateways]]
account = "acme"
id = "main"
[[providers]]
slug = "openai"
base_url = "http://127.0.0.1:{self.provider}"
[[zones]]
name = "localhost"
origins = [{urls}]
compression = ["zstd", "gzip"]
health_check = {{ path = "/", interval = "200ms", timeout = "500ms" }}
rulesets = [{{ phase = "http_ratelimit", rules = [{{ action = "block", expression = "http.request.uri.path eq \\"/never\\"", ratelimit = {{ characteristics = ["ip.src"], period = 60, requests_per_period = 10, mitigation_timeout = 60 }} }}] }}]
[zones.settings]
proxy_read_timeout = 1
[zones.waf]
paranoia_level = {self.level}
[zones.sensitive_data]
sample_every = 10
[zones.cache]
expression = "starts_with(http.request.uri.path, \\"/kept/\\")"
ttl = "2s"
''')
        os.rename(f"{self.own}/new.toml", f"{self.own}/p.toml")

    def set_clock(self, seconds):
        """Puts the edge's clock so far before or behind ours; it sees so within a second. Times that only grow are left alone."""
        self.ahead = seconds
        with open(f"{self.own}/clock.new", "w") as f:
            f.write(f"{seconds:+}")
        os.rename(f"{self.own}/clock.new", f"{self.own}/clock")

    def check_clock(self, time_told):
        """Ends the run if the edge's clock did not jump: what it tells as now is not so far from ours."""
        told = datetime.fromisoformat(time_told.replace("Z", "+00:00")).timestamp()
        if abs(told - time.time() - self.ahead) > 10:
            raise SystemExit(f"the edge says {time_told}, and its clock was set {self.ahead} s ahead")

    def reload(self):
        self.level = 3 - self.level
        self.write()
        self.child.send_signal(signal.SIGHUP)

    def kill_origin(self, port):
        child = self.children[port]
        child.kill()
        child.wait()
        self.servers.children.remove(child)

    def ask(self, path, body=None, method=None):
        """Result of a request of the API."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.admin}/client/v4{path}", json.dumps(body).encode() if body else None,
                                         {"Authorization": f"Bearer {API_TOKEN}", "Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=8) as answer:
            return json.load(answer)["result"]

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.admin}/metrics", timeout=8) as answer:
            return answer.read().decode()

    def sample(self):
        """Resident memory in KB, and open descriptors."""
        with open(f"/proc/{self.child.pid}/status") as f:
            memory = int(re.search(r"VmRSS:\s+(\d+)", f.read())[1])
        return memory, len(os.listdir(f"/proc/{self.child.pid}/fd"))

    def last_lines(self):
        """Of the edge's log."""
        with open(f"{self.own}/log") as f:
            return "".join(f.readlines()[-20:])


class Command:
    """A client that is a program; `read` makes requests, errors and the 99th percentile in ms, if it knows one, of what it prints."""

    def __init__(self, read, *command):
        self.read, self.command = read, command
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def end(self):
        output = self.child.communicate()[0]
        try:
            return self.read(output)
        except (TypeError, AttributeError) as e:
            raise SystemExit(f"{self.command[0]} printed what nobody reads ({e}):\n{output}")


class ApiClient:
    """Makes a record, reads it and deletes it, twice a second."""

    def __init__(self, edge, seconds):
        self.edge, self.until = edge, time.time() + seconds
        self.requests, self.errors, self.last_made = 0, 0, None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        records = "/zones/soak.example/dns_records"
        while time.time() < self.until:
            try:
                made = self.edge.ask(records, {"type": "TXT", "name": f"t{self.requests}", "content": "\"a text\"", "ttl": 60})
                self.last_made = made["created_on"]
                self.edge.ask(f"{records}/{made['id']}")
                self.edge.ask(f"{records}/{made['id']}", method="DELETE")
            except OSError as e:
                print(f"API: {e}", flush=True)
                self.errors += 1
            self.requests += 3
            time.sleep(0.5)

    def end(self):
        self.thread.join()
        if self.last_made:
            self.edge.check_clock(self.last_made)
        return self.requests, self.errors, None


def count(pattern, text):
    found = re.search(pattern, text)
    return sum(map(int, found.groups())) if found else 0


def read_wrk(output):
    scale = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0}
    value, unit = re.search(r"99%\s+([\d.]+)(us|ms|s|m)", output).groups()
    errors = count(r"Non-2xx or 3xx responses: (\d+)", output) + count(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", output)
    return int(re.search(r"(\d+) requests in", output)[1]), errors, float(value) * scale[unit]


def read_h2load(output):
    total, failed = re.search(r"requests: (\d+) total, .*? (\d+) failed", output).groups()
    statuses = re.search(r"status codes: \d+ 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", output)
    return int(total), max(int(failed), sum(map(int, statuses.groups()))), None


def read_http3(output):
    good, bad, p99 = re.search(r"(\d+) good answers, (\d+) others, .* p99 ([\d.]+) ms", output).groups()
    return int(good) + int(bad), int(bad), float(p99)


def read_gateway(output):
    good, bad = re.search(r"(\d+) good answers, (\d+) others", output).groups()
    return int(good) + int(bad), int(bad), None


def read_dnsperf(output):
    sent, lost = re.search(r"Queries sent:\s+(\d+)", output)[1], re.search(r"Queries lost:\s+(\d+)", output)[1]
    # Half of them ask for a name that is not there.
    codes = re.search(r"Response codes:\s+(.*)", output)[1]
    return int(sent), int(lost) + sum(int(n) for code, n in re.findall(r"(\w+) (\d+)", codes) if code not in ("NOERROR", "NXDOMAIN")), None


# Those of origins that are killed and stall.
OF_ORIGINS = ("HTTP/1.1", "HTTP/2", "HTTP/3")


def clients(edge, arguments, seconds):
    """Each client by name, begun."""
    folder, length = edge.folder, str(seconds)
    with open(f"{folder}/soak.lua", "w") as f:
        pause = f"delay = function() return {1000 * arguments.connections // arguments.rate} end" if arguments.rate else ""
        f.write(SCRIPT + pause)
    with open(f"{folder}/queries", "w") as f:
        f.write("soak.example SOA\nnone.soak.example A\n")
    rate = arguments.rate // 4 if arguments.rate else 2_000
    return {
        "HTTP/1.1": Command(read_wrk, "wrk", "-t1", f"-c{arguments.connections}", f"-d{length}s", "--timeout", "8s", "--latency", "-s", f"{folder}/soak.lua",
                            f"http://localhost:{edge.port}/"),
        "HTTP/2": Command(read_h2load, "h2load", "-t1", "-c2", "-m8", f"-D{length}", f"--rps={rate // 2}", f"https://localhost:{edge.tls}/shop/list?page=7"),
        "HTTP/3": Command(read_http3, f"{RELEASE}/examples/http3_load", f"127.0.0.1:{edge.tls}", "localhost", "/shop/list?page=8", f"{folder}/c.pem", "2", "8",
                          length, str(rate)),
        "gateway": Command(read_gateway, f"{RELEASE}/examples/gateway_mock", "soak", f"127.0.0.1:{edge.port}", GATEWAY_PATH, edge.token, "100",
                           str(seconds - 3)),
        "DNS": Command(read_dnsperf, shutil.which("dnsperf"), "-s", "127.0.0.1", "-p", str(edge.dns), "-d", f"{folder}/queries", "-l", length, "-Q", "500"),
        "API": ApiClient(edge, seconds),
    }
