"""Small training programs in plain Python, each with one fault, for `isochron watch`.

A scenario is a program text, the symptom and cause it must be given, and what else is fair. Programs
print as people print; they take 3 to 10 seconds. `work(seconds)` stands for computing, and the function
names are those people use, because a stack of frames is all that `watch` has to go by.
"""
from dataclasses import dataclass, field

HEAD = '''import os, random, sys, time

def work(seconds):
    """Computes for so much CPU time."""
    end = time.process_time() + seconds
    x = 0.5
    while time.process_time() < end:
        for _ in range(1000):
            x = 3.7 * x * (1 - x)
    return x

def report(epoch, epochs, start):
    print(f"Epoch {epoch}/{epochs} - loss: {1 / epoch:.4f} - time: {time.time() - start:.2f}s", flush=True)

'''


@dataclass
class Scenario:
    name: str
    symptom: str
    cause: str
    program: str
    also: list = field(default_factory=list)  # other causes that are fair answers
    quick: bool = False  # among the few that every test run has
    stall: str = "60s"
    needs: str = ""  # "disk": a file system that can be cold; "cgroup": a writable CPU controller
    disturb: str = ""  # what the runner does meanwhile

    def text(self):
        return HEAD + self.program


SCENARIOS = [
    Scenario("healthy", "healthy", "none", '''
def train_step():
    work(0.03)
for epoch in range(1, 6):
    start = time.time()
    for step in range(20):
        train_step()
    report(epoch, 5, start)
''', quick=True),
    Scenario("remote-batches", "slow-overall", "input.bound", '''
import http.server, threading, urllib.request
class Store(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.08)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"x" * 4096)
    def log_message(self, *args):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Store)
threading.Thread(target=server.serve_forever, daemon=True).start()
for epoch in range(1, 6):
    start = time.time()
    for step in range(12):
        x = urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/{step}").read()
        work(0.02)
    report(epoch, 5, start)
'''),
    Scenario("weights-made-in-first-step", "slow-first", "startup.init", '''
class Layer:
    weights = None
    def set_weights(self, values):
        self.weights = values
def near_identity(size):
    work(2.2)
    return [1.0] * size
layer = Layer()
n_epochs = 5
for e in range(n_epochs):
    for step in range(15):
        if layer.weights is None:
            layer.set_weights(near_identity(8))
        work(0.03)
'''),
    Scenario("healthy-early-stop", "healthy", "none", '''
for epoch in range(1, 20):
    start = time.time()
    work(0.7)
    report(epoch, 20, start)
    if epoch == 4:
        print("early stopping: no improvement", flush=True)
        break
'''),
    Scenario("lazy-import", "slow-first", "startup.import", '''
folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lazily")
os.makedirs(folder, exist_ok=True)
for i in range(30):
    with open(os.path.join(folder, f"part{i}.py"), "w") as f:
        f.write("import time\\nend = time.process_time() + 0.06\\nwhile time.process_time() < end: pass\\n")
with open(os.path.join(folder, "__init__.py"), "w") as f:
    f.write("".join(f"from lazily import part{i}\\n" for i in range(30)))
def train_step():
    import lazily
    work(0.03)
for epoch in range(1, 6):
    start = time.time()
    for step in range(15):
        train_step()
    report(epoch, 5, start)
''', quick=True),
    Scenario("slow-init", "slow-first", "startup.init", '''
weights = None
def init_weights():
    work(2.5)
    return [0.1] * 1000
def train_step():
    global weights
    if weights is None:
        weights = init_weights()
    work(0.03)
for epoch in range(1, 6):
    start = time.time()
    for step in range(15):
        train_step()
    report(epoch, 5, start)
'''),
    Scenario("cold-read", "slow-first", "input.cold-read", '''
path = sys.argv[1]
size = os.path.getsize(path)
file = open(path, "rb", buffering=0)
os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
def load_batch():
    for _ in range(50):
        file.seek(random.randrange(size // 16384) * 16384)
        file.read(16384)
random.seed(1)
order = random.getstate()
for epoch in range(1, 6):
    random.setstate(order)
    start = time.time()
    for step in range(60):
        load_batch()
        work(0.003)
    report(epoch, 5, start)
''', also=["input.bound"], needs="disk"),
    Scenario("input-bound", "slow-overall", "input.bound", '''
def load_batch():
    work(0.03)
def train_step():
    work(0.008)
for epoch in range(1, 6):
    start = time.time()
    for step in range(25):
        load_batch()
        train_step()
    report(epoch, 5, start)
''', quick=True),
    Scenario("workers-each-epoch", "slow-overall", "input.worker-start", '''
import multiprocessing
def serve(queue):
    work(0.8)  # what a fresh interpreter imports
    for i in range(20):
        queue.put([0.5] * 1000)
def next_batch(queue):
    return queue.get()
if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    for epoch in range(1, 6):
        start = time.time()
        queue = context.Queue()
        workers = [context.Process(target=serve, args=(queue,), daemon=True)]
        for worker in workers:
            worker.start()
        for step in range(20):
            next_batch(queue)
            work(0.005)
        for worker in workers:
            worker.join()
        report(epoch, 5, start)
''', also=["input.bound"]),
    Scenario("leak", "slowing", "memory.leak", '''
seen = []
def monitor():
    seen.extend(random.random() for _ in range(150000))
    return sum(seen) / len(seen)
for epoch in range(1, 8):
    start = time.time()
    for step in range(6):
        work(0.01)
        monitor()
    report(epoch, 7, start)
''', also=["memory.graph-growth", "train.callback"]),
    Scenario("checkpoint", "uneven", "disk.checkpoint", '''
def save_checkpoint(path):
    with open(path, "wb") as f:
        for _ in range(180):
            f.write(os.urandom(1 << 20))
        f.flush()
        os.fsync(f.fileno())
for epoch in range(1, 9):
    start = time.time()
    work(0.4)
    if epoch % 2 == 0:
        save_checkpoint("last.ckpt")
    report(epoch, 8, start)
''', quick=True),
    Scenario("rewritten-log", "slowing", "disk.temp-growth", '''
import json
scores = []
for epoch in range(1, 8):
    start = time.time()
    work(0.15)
    scores += [{"epoch": epoch, "score": random.random()} for _ in range(60000)]
    with open("scores.json", "w") as f:
        json.dump(scores, f)
    report(epoch, 7, start)
''', also=["memory.leak", "disk.logging"]),
    Scenario("disk-full", "died", "disk.full", '''
for epoch in range(1, 6):
    start = time.time()
    work(0.5)
    report(epoch, 5, start)
    if epoch == 3:
        with open("/dev/full", "wb") as f:
            f.write(b"x" * 100000)
'''),
    Scenario("too-large", "died", "memory.oversized", '''
import resource
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
print("building a model with 400M parameters", flush=True)
work(1.0)
weights = bytearray(4 * 400_000_000)
'''),
    Scenario("neighbours", "slower-later", "machine.contention", '''
for epoch in range(1, 9):
    start = time.time()
    for step in range(20):
        work(0.03)
    report(epoch, 8, start)
''', also=["machine.throttled"], disturb="burn 2.5"),
    Scenario("quota", "slower-later", "machine.throttled", '''
for epoch in range(1, 8):
    start = time.time()
    for step in range(20):
        work(0.03)
    report(epoch, 7, start)
''', also=["machine.contention"], needs="cgroup", disturb="quota 2.5 0.3"),
    Scenario("validation", "uneven", "train.validation", '''
def validate():
    work(1.2)
for epoch in range(1, 7):
    start = time.time()
    work(0.5)
    if epoch % 3 == 0:
        validate()
    report(epoch, 6, start)
'''),
    Scenario("callback", "slower-later", "train.callback", '''
class BootstrapScore:
    def on_epoch_end(self, epoch):
        if epoch >= 4:
            work(1.0)
callback = BootstrapScore()
for epoch in range(1, 8):
    start = time.time()
    work(0.5)
    callback.on_epoch_end(epoch)
    report(epoch, 7, start)
'''),
    Scenario("deadlock", "stuck", "wait.lock", '''
import threading
first, second = threading.Lock(), threading.Lock()
def writer():
    time.sleep(1.6)
    with second:
        time.sleep(0.2)
        with first:
            pass
threading.Thread(target=writer, daemon=True).start()
for epoch in range(1, 6):
    start = time.time()
    for step in range(10):
        work(0.05)
        with first:
            time.sleep(0.02)
            with second:
                pass
    report(epoch, 5, start)
''', stall="4s", quick=True),
    Scenario("dead-worker", "stuck", "wait.worker", '''
import multiprocessing
def serve(queue):
    for i in range(30):
        queue.put([0.5] * 100)
    os._exit(1)
if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    context.Process(target=serve, args=(queue,), daemon=True).start()
    for epoch in range(1, 5):
        start = time.time()
        for step in range(20):
            queue.get()
            work(0.02)
        report(epoch, 4, start)
''', stall="4s", quick=True),
    Scenario("silent-sender", "stuck", "wait.io", '''
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
def send():
    peer, _ = server.accept()
    peer.sendall(b"x" * 64 * 45)
    time.sleep(60)
threading.Thread(target=send, daemon=True).start()
stream = socket.create_connection(server.getsockname())
def read_record():
    data = b""
    while len(data) < 64:
        data += stream.recv(64 - len(data))
for epoch in range(1, 5):
    start = time.time()
    for step in range(20):
        read_record()
        work(0.02)
    report(epoch, 4, start)
''', also=["input.bound"], stall="4s"),
    Scenario("absent-peer", "stuck", "wait.peer", '''
import socket
def all_reduce(link, value):
    link.sendall(b"%08d" % value)
    return int(link.recv(8))
here, there = socket.socketpair()
link = here if os.fork() else there
rank = 0 if link is here else 1
for epoch in range(1, 6):
    start = time.time()
    for step in range(10):
        work(0.03)
        if rank == 0 or epoch < 3:
            all_reduce(link, step)
    if rank == 0:
        report(epoch, 5, start)
    elif epoch == 3:
        time.sleep(60)
''', also=["wait.io"], stall="4s"),
    Scenario("exception", "died", "unknown", '''
for epoch in range(1, 6):
    start = time.time()
    work(0.4)
    report(epoch, 5, start)
    if epoch == 3:
        raise ValueError("labels must be below 10, got 11")
'''),
    Scenario("graph-building", "slow-first", "startup.graph", '''
class Model:
    built = False
    def build_graph(self):
        work(2.2)
        self.built = True
    def train_step(self):
        if not self.built:
            self.build_graph()
        work(0.03)
model = Model()
for epoch in range(1, 6):
    start = time.time()
    for step in range(15):
        model.train_step()
    report(epoch, 5, start)
'''),
    Scenario("shuffle-buffer", "slow-first", "input.shuffle-fill", '''
class Shuffled:
    def fill_buffer(self):
        while len(self.buffer) < 40:
            work(0.06)
            self.buffer.append(0.5)
    buffer = []
    def next(self):
        if not self.buffer:
            self.fill_buffer()
        return self.buffer[0]
data = Shuffled()
for epoch in range(1, 6):
    start = time.time()
    for step in range(15):
        data.next()
        work(0.03)
    report(epoch, 5, start)
''', also=["input.bound", "input.cache-fill"]),
    Scenario("cached-items", "slow-first", "input.cache-fill", '''
class Pictures:
    ready = {}
    def __getitem__(self, index):
        if index not in self.ready:
            work(0.03)
            self.ready[index] = 0.5
        return self.ready[index]
pictures = Pictures()
for epoch in range(1, 6):
    start = time.time()
    for step in range(60):
        pictures[step]
        work(0.008)
    report(epoch, 5, start)
''', also=["input.bound"], quick=True),
    Scenario("more-steps", "slower-later", "compute.more-work", '''
for epoch in range(1, 8):
    start = time.time()
    steps = 15 if epoch < 4 else 45
    for step in range(1, steps + 1):
        work(0.02)
        print(f"\\rEpoch {epoch}/7: {step}/{steps} [{'#' * (step * 10 // steps):10}] {time.time() - start:.1f}s", end="", flush=True)
    print(f" - {time.time() - start:.2f}s", flush=True)
'''),
    Scenario("growing-graph", "slowing", "memory.graph-growth", '''
class Loss:
    history = []
    def backward(self):
        work(0.004 * len(self.history))
loss = Loss()
for epoch in range(1, 7):
    start = time.time()
    for step in range(5):
        work(0.06)
        loss.history.append([0.0] * 300000)
        loss.backward()
    report(epoch, 6, start)
''', also=["memory.leak"]),
    Scenario("synced-log", "slow-overall", "disk.logging", '''
import logging
class Synced(logging.FileHandler):
    def emit(self, record):
        super().emit(record)
        os.fsync(self.stream.fileno())
        time.sleep(0.02)
logging.getLogger().addHandler(Synced("steps.log"))
for epoch in range(1, 6):
    start = time.time()
    for step in range(25):
        work(0.01)
        logging.warning("step %d", step)
    report(epoch, 5, start)
'''),
    Scenario("resumed", "slow-first", "resume.skip", '''
def load_batch():
    work(0.02)
print("resuming from checkpoint last.ckpt at epoch 4, step 120", flush=True)
for epoch in range(4, 9):
    start = time.time()
    if epoch == 4:
        for done in range(120):
            load_batch()
    for step in range(15):
        load_batch()
        work(0.03)
    report(epoch, 8, start)
''', also=["input.bound"]),
]
