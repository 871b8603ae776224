"""What the load scripts share: ports, servers of one worker, and wrk."""
import os, re, shutil, signal, socket, subprocess, tempfile, time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NGINX = shutil.which("nginx") or "/usr/sbin/nginx"
TICKS = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait(port):
    until = time.time() + 60
    while time.time() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise SystemExit(f"nothing listens on {port}")


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def nginx_conf(folder, name, body):
    path = os.path.join(folder, name + ".conf")
    temp = "".join(f"{kind}_temp_path {folder}/{name}-{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    with open(path, "w") as f:
        f.write(f"daemon off; master_process off; worker_processes 1; pid {folder}/{name}.pid; error_log stderr crit;"
                f"events {{ worker_connections 1024; }} http {{ access_log off; keepalive_requests 1000000; {temp} {body} }}")
    return path


def certificate(folder):
    """One of localhost: `c.pem`, `k.pem`, and both in `both.pem`."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "9",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE",
                    "-keyout", f"{folder}/k.pem", "-out", f"{folder}/c.pem"], check=True, capture_output=True)
    with open(f"{folder}/both.pem", "w") as f:
        f.write(open(f"{folder}/c.pem").read() + open(f"{folder}/k.pem").read())


def portcullis_conf(folder, name, port, origin, zone, rules=()):
    own = os.path.join(folder, name)
    os.makedirs(own)
    with open(os.path.join(own, "p.toml"), "w") as f:
        f.write(f'''threads = 1
log_level = "error"
{f"[rules]{chr(10)}owasp = {list(rules)}" if rules else ""}
[[listeners]]
address = "127.0.0.1:{port}"
[admin]
address = "127.0.0.1:{free_port()}"
[[zones]]
name = "127.0.0.1"
origins = ["http://127.0.0.1:{origin}"]
{zone}''')
    return os.path.join(own, "p.toml")


def rule_sets():
    """Name to set-up file and folder of rules."""
    sets = {"3.3.4": ("/etc/modsecurity/crs/crs-setup.conf", "/usr/share/modsecurity-crs/rules")}
    folder = os.environ.get("CRS_DIR")
    if folder:
        sets["v4.28.0"] = (os.path.join(folder, "crs-setup.conf.example"), os.path.join(folder, "rules"))
    return sets


def build():
    """Builds what the scripts run. All of it at once: the binary alone would be built with other features."""
    subprocess.run(["cargo", "build", "--release", "--quiet", "--bin", "portcullis", "--examples"], cwd=ROOT, check=True)


class Servers:
    """Servers in a folder of their own; all end with the block."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="portcullis-load-")
        self.children = []
        return self

    def start(self, command, port, log=os.devnull, more=None):
        """Starts a command that listens on a port; `log` is the file of its output, `more` goes into its environment."""
        with open(log, "a") as output:
            child = subprocess.Popen(command, stdout=output, stderr=output, cwd=self.folder, env={**os.environ, **(more or {})})
        self.children.append(child)
        wait(port)
        return child

    def origin(self):
        """An nginx that answers every request with a small text; its port."""
        port = free_port()
        body = f"server {{ listen 127.0.0.1:{port}; location / {{ default_type text/plain; return 200 'a small answer'; }} }}"
        self.start([NGINX, "-c", nginx_conf(self.folder, "origin", body)], port)
        return port

    def __exit__(self, *_):
        for child in self.children:
            child.send_signal(signal.SIGINT)
        for child in self.children:
            try:
                child.wait(20)
            except subprocess.TimeoutExpired:
                # Started in the background of a shell, it may be deaf for SIGINT.
                child.kill()
                child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def wrk(folder, port, target, body, arguments, refused=False, headers=None):
    """One round: requests/s, their number, and p50 and p99 in ms. `body` is its type and its text."""
    script = os.path.join(folder, "wrk.lua")
    with open(script, "w") as f:
        if body:
            f.write(f'wrk.method = "POST"\nwrk.headers["Content-Type"] = "{body[0]}"\nwrk.body = [[{body[1]}]]\n')
        for name, value in {"User-Agent": "wrk", **(headers or {})}.items():
            f.write(f'wrk.headers["{name}"] = "{value}"\n')
    output = subprocess.run(["wrk", "-t1", f"-c{arguments.connections}", f"-d{arguments.seconds}s", "--latency", "-s", script,
                             f"http://127.0.0.1:{port}{target}"], capture_output=True, text=True, check=True).stdout
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", output)[1])
    total = int(re.search(r"(\d+) requests in", output)[1])
    scale = {"us": 0.001, "ms": 1.0, "s": 1000.0}
    latency = {p: float(v) * scale[u] for p, v, u in re.findall(r"(50|99)%\s+([\d.]+)(us|ms|s)", output)}
    answers = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
    errors = re.search(r"Socket errors: (.*)", output)
    if errors or (int(answers[1]) if answers else 0) != (total if refused else 0):
        raise SystemExit(f"other answers than expected:\n{output}")
    return rate, total, latency["50"], latency["99"]
