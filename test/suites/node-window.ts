// What the real kubectl, new and old, sees of a node through its window: logs, exec, attach, cp, port-forward, debug, top, proxies, by
// WebSocket and by SPDY. The same for every runtime; the node is started by who runs it.

import { execFile, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";
import { busyboxImageName } from "../harness/images.ts";
import { queriedSeries } from "../fixtures/queried-series.ts";
import { freePort, type RunningSkiff } from "../harness/skiff.ts";
import { until } from "../harness/until.ts";

const oldKubectl = join(import.meta.dirname, "../../.cache/kubernetes-client/usr/bin/kubectl");
const waitMs = 60_000;
const interrupt = "\u0003";

const page = '<a href="/there">there</a><a href="near">near</a>';
/** Answers with what it was sent, and who it thinks it was sent by. */
const echo = '#!/bin/sh\nprintf "\\r\\n"; echo "$REQUEST_METHOD $HTTP_AUTHORIZATION"; head -c "$CONTENT_LENGTH"';
/** Leaves HTTP behind, and gives back every line. */
const leave = [
  "#!/bin/sh",
  "while read line; do [ ${#line} -le 1 ] && break; done",
  'printf "HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: echo\\r\\n\\r\\n"',
  "while read line; do echo back $line; done",
].join("\n");
const server = [
  "mkdir -p /tmp/www/folder /tmp/www/cgi-bin",
  `cat > /tmp/www/cgi-bin/echo <<'END'\n${echo}\nEND\n`,
  `cat > /tmp/leave <<'END'\n${leave}\nEND\n`,
  "chmod +x /tmp/leave /tmp/www/cgi-bin/echo",
  "(nc -ll -p 8081 -e /tmp/leave &)",
  "echo page > /tmp/www/index.html",
  `echo '${page}' > /tmp/www/links.html`,
  "httpd -p 8080 -h /tmp/www",
  "echo one",
  "echo two >&2",
  "while read line; do echo got $line; done",
  "sleep 1000",
].join("\n");
const life = "echo life; [ -e /cache/x ] && exec sleep 1000; touch /cache/x; exit 1";
const reader = 'trap "echo interrupted" INT; while true; do read line && echo got $line; done';

const objects = [
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", labels: { app: "web" } },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: "main",
          image: busyboxImageName,
          imagePullPolicy: "Never",
          stdin: true,
          command: ["sh", "-c", server],
          ports: [{ containerPort: 8080 }],
          readinessProbe: { httpGet: { port: 8080, path: "/" } },
          resources: { requests: { cpu: "10m" }, limits: { cpu: "2", memory: "512Mi" } },
        },
      ],
    },
  },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "restarted" },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: "main",
          image: busyboxImageName,
          imagePullPolicy: "Never",
          command: ["sh", "-c", life],
          volumeMounts: [{ name: "cache", mountPath: "/cache" }],
        },
      ],
      volumes: [{ name: "cache", emptyDir: {} }],
    },
  },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "terminal" },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: "main",
          image: busyboxImageName,
          imagePullPolicy: "Never",
          stdin: true,
          tty: true,
          command: ["sh", "-c", reader],
        },
      ],
    },
  },
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "web" },
    spec: { selector: { app: "web" }, ports: [{ name: "http", port: 80, targetPort: 8080 }] },
  },
];

/** What is used of node-pty here: its own declarations are no module. */
interface PtyModule {
  spawn(
    program: string,
    args: readonly string[],
    options: { cols: number; rows: number; env: Record<string, string> },
  ): {
    onData(then: (text: string) => void): void;
    onExit(then: (end: { exitCode: number }) => void): void;
    write(text: string): void;
    resize(columns: number, rows: number): void;
    kill(): void;
  };
}

interface Ran {
  readonly code: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

interface Client {
  readonly name: string;
  readonly program: string;
  readonly env: Record<string, string>;
}

/** How much is piped through exec in each direction. */
const pipedBytes = 100_000_000;

export interface WindowOptions {
  /** The runtime knows a terminal's size before the command runs. Others learn it a moment later, as upstream's do. */
  readonly knowsSizeAtOnce: boolean;
}

export async function nodeWindow(t: Test, skiff: RunningSkiff, options: WindowOptions): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "skiff-window-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  // Older versions of kubectl may read from a WebSocket before their streams are there, lose what came, and say so.
  const isClientRace = ({ stderr }: Ran) => /Unknown stream id \d, discarding message/.test(stderr);
  const runWith =
    (client: Pick<Client, "program" | "env">) =>
    async (args: readonly string[], input?: Buffer | string): Promise<Ran> => {
      let ran = await runOnce(client, args, input);
      for (let again = 5; again > 0 && isClientRace(ran); again--) ran = await runOnce(client, args, input);
      return ran;
    };
  const runOnce = (
    { program, env }: Pick<Client, "program" | "env">,
    args: readonly string[],
    input?: Buffer | string,
  ) =>
    new Promise<Ran>((resolve) => {
      const own = { env: { ...process.env, ...env }, maxBuffer: 512 << 20, encoding: "buffer" as const };
      const all = ["--kubeconfig", skiff.kubeconfig, ...args];
      const child = execFile(program, all, { ...own, timeout: 3 * waitMs }, (error, stdout, stderr) => {
        const code = error ? Number(error.code ?? 1) : 0;
        resolve({ code, stdout, stderr: stderr.toString() });
      });
      child.stdin?.on("error", () => {}).end(input);
    });
  const kubectl = runWith({ program: "kubectl", env: {} });
  const said = async (...args: string[]) => (await kubectl(args)).stdout.toString();
  await skiff.apply(...objects);
  t.match(await kubectl(["wait", "--for=condition=Ready", "pod/web", "pod/terminal", "--timeout=120s"]), { code: 0 });

  await t.test("logs in their forms", async (t) => {
    // They come by two pipes: which of the lines is first is the machine's choice.
    const whole = await until("both lines", async () => {
      const text = await said("logs", "web");
      return text.split("\n").length === 3 && text;
    });
    const [first = "", second = ""] = whole.split("\n");
    t.same([first, second].sort(), ["one", "two"]);
    t.equal(await said("logs", "web", "--tail=1"), `${second}\n`);
    t.match(
      await said("logs", "web", "--timestamps"),
      new RegExp(`^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{1,9}(Z|[+-]\\d\\d:\\d\\d) ${first}\\n`),
    );
    t.equal(await said("logs", "web", "--limit-bytes=5"), `${first}\n${second[0]}`);
    t.equal(await said("logs", "web", "--since-time=2999-01-01T00:00:00Z"), "");
    t.equal(await said("logs", "web", "--since=1h", "--all-containers"), whole);
    t.equal(await said("logs", "-l", "app=web", "--prefix"), `[pod/web/main] ${first}\n[pod/web/main] ${second}\n`);
    t.match(await kubectl(["logs", "web", "-p"]), {
      code: 1,
      stderr: /previous terminated container "main" in pod "web" not found/,
    });
    const restarts = "jsonpath={.status.containerStatuses[0].restartCount}";
    await until("the restart", async () => Number(await said("get", "pod", "restarted", "-o", restarts)) > 0, waitMs);
    t.equal(await said("logs", "restarted", "-p"), "life\n");
    const follow = spawn("kubectl", ["--kubeconfig", skiff.kubeconfig, "logs", "-f", "web"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    let followed = "";
    follow.stdout.on("data", (chunk: Buffer) => (followed += chunk.toString()));
    await until("the beginning", () => followed.includes("two"), waitMs);
    const attach = spawn("kubectl", ["--kubeconfig", skiff.kubeconfig, "attach", "-i", "-q", "web"], {
      stdio: ["pipe", "pipe", "ignore"],
    });
    let attached = "";
    attach.stdout.on("data", (chunk: Buffer) => (attached += chunk.toString()));
    attach.stdin.write("hello\n");
    await until("what came later", () => followed.includes("got hello") && attached.includes("got hello"), waitMs);
    attach.kill();
    follow.kill();
  });

  // @ts-expect-error The package declares its types under the name it was published with, not under ours.
  const { spawn: spawnInTerminal } = (await import("node-pty")) as PtyModule;
  /** kubectl in a terminal: what it shows, and how it ends. */
  const inTerminal = (client: Client, args: readonly string[], size = { cols: 100, rows: 40 }) => {
    const env = { ...process.env, ...client.env, TERM: "xterm" } as Record<string, string>;
    const pty = spawnInTerminal(client.program, ["--kubeconfig", skiff.kubeconfig, ...args], { ...size, env });
    let shown = "";
    pty.onData((text) => (shown += text));
    const ended = new Promise<number>((resolve) => pty.onExit(({ exitCode }) => resolve(exitCode)));
    const sees = (what: string) =>
      until(`the terminal to show ${what}`, () => shown.includes(what), waitMs).catch((error: unknown) => {
        throw new Error(`the terminal shows ${JSON.stringify(shown)}`, { cause: error });
      });
    return { pty, ended, sees, shown: () => shown };
  };

  const spdy = { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: "false", KUBECTL_PORT_FORWARD_WEBSOCKETS: "false" };
  const webSocket = { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: "true", KUBECTL_PORT_FORWARD_WEBSOCKETS: "true" };
  const clients: Client[] = [
    { name: "kubectl by WebSocket", program: "kubectl", env: webSocket },
    { name: "kubectl by SPDY", program: "kubectl", env: spdy },
    ...(existsSync(oldKubectl) ? [{ name: "kubectl 1.20", program: oldKubectl, env: {} }] : []),
  ];
  const blob = randomBytes(5_000_000);
  const sum = createHash("sha256").update(blob).digest("hex");
  const long = Buffer.alloc(pipedBytes, blob);
  const longSum = createHash("sha256").update(long).digest("hex");
  for (const client of clients) {
    await t.test(client.name, async (t) => {
      const run = runWith(client);
      t.match(await run(["exec", "web", "--", "sh", "-c", "echo out; echo err >&2; exit 7"]), {
        code: 7,
        stdout: Buffer.from("out\n"),
        stderr: /^err\n/,
      });
      t.match(await run(["exec", "nope", "--", "true"]), { code: 1, stderr: /pods "nope" not found/ });

      const piped = await run(["exec", "-i", "web", "--", "sh", "-c", "tee /tmp/piped | sha256sum"], long);
      t.match(piped.stdout.toString(), longSum, `${pipedBytes} bytes in`);
      const back = await run(["exec", "web", "--", "cat", "/tmp/piped"]);
      t.ok(back.stdout.equals(long), `${pipedBytes} bytes out`);

      const file = join(dir, "blob");
      writeFileSync(file, blob);
      t.equal((await run(["cp", file, "web:/tmp/www/blob"])).code, 0);
      t.match((await run(["exec", "web", "--", "sha256sum", "/tmp/www/blob"])).stdout.toString(), sum, "cp in");
      t.equal((await run(["cp", "web:/tmp/www/blob", `${file}.back`])).code, 0);
      t.ok(readFileSync(`${file}.back`).equals(blob), "cp out");

      await t.test("a terminal", async (t) => {
        if (options.knowsSizeAtOnce) {
          const look = inTerminal(client, ["exec", "-it", "web", "--", "stty", "size"]);
          t.equal(await look.ended, 0);
          t.match(look.shown(), "40 100", "its size is known before the command runs");
        }
        const shell = inTerminal(client, ["exec", "-it", "web", "--", "sh"]);
        await shell.sees("#");
        shell.pty.write('until [ "$(stty size)" = "40 100" ]; do sleep 0.1; done; echo size-$((1+0))\r');
        await shell.sees("size-1");
        shell.pty.resize(90, 30);
        shell.pty.write('until [ "$(stty size)" = "30 90" ]; do sleep 0.1; done; echo size-$((1+1))\r');
        await shell.sees("size-2");
        // Said by the very group that is to be interrupted: the shell itself would say it before there is one.
        shell.pty.write("sh -c 'echo sleep-$((1+2)); exec sleep 1000'; echo over-$?\r");
        await shell.sees("sleep-3");
        shell.pty.write(interrupt);
        // Interrupted, the shell takes no more of that line.
        shell.pty.write("echo after-$((2+3)); exit 9\r");
        await shell.sees("after-5");
        t.equal(await shell.ended, 9, "the exit code of a terminal's command");
        t.notMatch(shell.shown(), /over-\d/, "Ctrl-C ended what ran");

        const attached = inTerminal(client, ["attach", "-it", "terminal"]);
        attached.pty.write(`word-${client.name.length}\r`);
        await attached.sees(`got word-${client.name.length}`);
        attached.pty.write(interrupt);
        await attached.sees("interrupted");
        t.pass("attached to a terminal");
        attached.pty.kill();
        await attached.ended;
      });

      const port = await freePort();
      const forward = spawn(client.program, ["--kubeconfig", skiff.kubeconfig, "port-forward", "web", `${port}:8080`], {
        env: { ...process.env, ...client.env },
        stdio: ["ignore", "pipe", "ignore"],
      });
      t.teardown(() => forward.kill());
      await new Promise((resolve) => forward.stdout.once("data", resolve));
      const all = await Promise.all(
        Array.from({ length: 6 }, async () =>
          Buffer.from(await (await fetch(`http://127.0.0.1:${port}/blob`)).arrayBuffer()),
        ),
      );
      t.ok(
        all.every((one) => one.equals(blob)),
        "six large transfers at once",
      );
    });
  }

  await t.test("a debugging container sees the target's processes", async (t) => {
    const look = ["-c", "look", "--image-pull-policy=Never", "--", "sh", "-c", "ps; echo done"];
    await kubectl(["debug", "web", `--image=${busyboxImageName}`, "--target=main", ...look]);
    await until("it to have looked", async () => (await said("logs", "web", "-c", "look")).includes("done"), waitMs);
    t.match(await said("logs", "web", "-c", "look"), /httpd/);
  });

  await t.test("proxies to pod, service and node", async (t) => {
    const raw = (path: string) => said("get", "--raw", path);
    const base = "/api/v1/namespaces/default";
    t.equal(await raw(`${base}/pods/web:8080/proxy/index.html`), "page\n");
    t.equal(await raw(`${base}/services/web/proxy/`), "page\n");
    t.equal(await raw(`${base}/services/http:web:http/proxy/`), "page\n");
    t.equal(await raw(`${base}/services/web:http/proxy/index.html`), "page\n");
    t.equal(
      await raw(`${base}/services/web/proxy/links.html`),
      `${page.replace('"/there"', `"${base}/services/web/proxy/there"`)}\n`,
      "links of a page lead through the proxy",
    );
    t.equal(await raw(`/api/v1/nodes/${skiff.nodeName}/proxy/healthz`), "ok");
    t.match(await raw(`/api/v1/nodes/${skiff.nodeName}/proxy/spec/`), /"num_cores":.*"board":\{/);
    t.notMatch(skiff.log(), /cannot find out what this machine is made of/);
    const through = spawn("kubectl", ["--kubeconfig", skiff.kubeconfig, "proxy", "--port=0"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    t.teardown(() => through.kill());
    const address = await new Promise<string>((resolve) =>
      through.stdout.once("data", (text: Buffer) => resolve(/127\.0\.0\.1:\d+/.exec(text.toString())?.[0] ?? "")),
    );
    const by = (path: string, init: RequestInit = {}) =>
      fetch(`http://${address}${base}/${path}`, { redirect: "manual", ...init });
    t.equal(await (await by("pods/web:8080/proxy/")).text(), "page\n", "kubectl proxy");
    const moved = await by("services/web/proxy/folder");
    t.match(moved.headers.get("location"), `${base}/services/web/proxy/folder/`, "a redirect leads through the proxy");
    await moved.body?.cancel();
    const headers = { authorization: "Bearer secret" };
    const posted = await by("services/web/proxy/cgi-bin/echo", { method: "POST", body: "hello", headers });
    t.equal(await posted.text(), "POST \nhello", "a body arrives, and no credentials do");
    const { host, port } = { host: address.split(":")[0] ?? "", port: Number(address.split(":")[1]) };
    const given = await new Promise<string>((resolve, reject) => {
      const path = `${base}/pods/web:8081/proxy/`;
      const sent = request({ host, port, path, headers: { connection: "Upgrade", upgrade: "echo" } });
      sent.once("response", (response) => reject(new Error(`it answered ${response.statusCode}`)));
      sent.once("error", reject);
      sent.once("upgrade", (_response, socket) => {
        socket.once("data", (text: Buffer) => {
          resolve(text.toString());
          socket.destroy();
        });
        socket.write("there\n");
      });
      sent.end();
    });
    t.equal(given, "back there\n", "a connection leaves HTTP through the proxies");
  });

  await t.test("what is used, as kubectl top and Prometheus see it", async (t) => {
    const top = (what: string) =>
      until(
        `top ${what}`,
        async () => {
          const { code, stdout } = await kubectl(["top", what, "--no-headers"]);
          return code === 0 && stdout.length > 0 && stdout.toString();
        },
        waitMs,
      );
    t.match(await top("pod"), /web +\d+m +\d+Mi/);
    t.match(await top("node"), new RegExp(`${skiff.nodeName} +\\d+m`));
    const proxied = (path: string) => said("get", "--raw", `/api/v1/nodes/${skiff.nodeName}/proxy${path}`);
    const { node, pods } = JSON.parse(await proxied("/stats/summary"));
    t.match(node, { fs: { capacityBytes: Number }, network: { interfaces: [] }, rlimit: { maxpid: Number } });
    const web = pods.find(({ podRef }: { podRef: { name: string } }) => podRef.name === "web");
    t.match(web, { network: { name: "eth0", rxBytes: Number }, containers: [{ name: "main", rootfs: {}, logs: {} }] });
    const texts = new Map<string, string>();
    for (const { path, names, labels } of queriedSeries) {
      const text = texts.get(path) ?? (await proxied(path));
      texts.set(path, text);
      for (const name of names) {
        const rows = text.split("\n").filter((line) => new RegExp(`^${name}[{ ]`).test(line));
        const isWhole = rows.some((row) => labels.every((label) => row.includes(`${label}="`)));
        t.ok(isWhole, `${path}: ${name} by ${labels.join(", ")}`);
      }
    }
    const series = texts.get("/metrics/cadvisor") ?? "";
    t.match(series, /container_cpu_usage_seconds_total\{container="main",.*pod="web",cpu="total"\} \d/);
    t.match(series, /container_network_receive_bytes_total\{.*pod="web",interface="eth0"\} \d/);
    t.match(series, /container_fs_writes_bytes_total\{.*device="\/dev\//, "devices by name");
    const machine = JSON.parse(await proxied("/api/v1.3/docker")) as Record<string, { aliases: string[] }>;
    t.ok(
      Object.values(machine).some(({ aliases }) => aliases.some((alias) => alias.startsWith("k8s_main_web_default_"))),
      "cAdvisor's own documents",
    );
  });
}
