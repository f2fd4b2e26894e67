import { EventEmitter } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import t, { type Test } from "tap";
import { serveStream } from "../../cri/stream/accept.ts";
import { wantedByQuery } from "../../cri/stream/server-session.ts";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Pod } from "../../plugins/kit/kube/objects/types.ts";
import { serve, type Upgrade } from "../../plugins/kit/os/platform/http-server.ts";
import { readAll } from "../../test/harness/read-all.ts";
import { until } from "../../test/harness/until.ts";
import { accessByKubeconfig, type ClusterAccess } from "./access.ts";
import { execInPod } from "./exec.ts";
import { showLogs } from "./logs.ts";
import { takeScreen } from "./screen.ts";
import { statusLines, watchStatus } from "./status.ts";
import { inColumns } from "./table.ts";
import { waitLines } from "./waits.ts";

const pod = {
  kind: "Pod",
  apiVersion: "v1",
  metadata: { name: "web", namespace: "shop" },
  spec: { nodeName: "pi", containers: [{ name: "main" }, { name: "side" }], initContainers: [{ name: "first" }] },
};
const table = (columns: string[], rows: { cells: unknown[]; object: object }[]) => ({
  kind: "Table",
  columnDefinitions: columns.map((name) => ({ name })),
  rows,
});
const conditions = [
  { type: "Ready", status: "False", message: "the runtime is away" },
  { type: "DiskPressure", status: "False" },
];
const answers: Record<string, object> = {
  "/api/v1/nodes": table(
    ["Name", "Status", "Roles", "Age", "Version"],
    [
      {
        cells: ["pi", "NotReady", "<none>", "3d", "v1.32.0"],
        object: { metadata: { name: "pi" }, status: { conditions } },
      },
    ],
  ),
  "/api/v1/pods": table(
    ["Name", "Ready", "Status", "Restarts", "Age"],
    [{ cells: ["web", "1/2", "CrashLoopBackOff", 7, "2h"], object: pod }],
  ),
  "/api/v1/namespaces/shop/pods/web": pod,
  "/apis/metrics.k8s.io/v1beta1/nodes": {
    items: [{ metadata: { name: "pi" }, usage: { cpu: "250m", memory: "512Mi" } }],
  },
  "/apis/metrics.k8s.io/v1beta1/pods": {
    items: [
      {
        metadata: { name: "web", namespace: "shop" },
        containers: [{ usage: { cpu: "1500000n", memory: "1024Ki" } }, { usage: { cpu: "1m", memory: "1Mi" } }],
      },
    ],
  },
};

/** Just enough of an API server, and the way to it by a kubeconfig. */
async function cluster(
  t: Test,
  run?: () => Promise<{ exitCode: number }>,
): Promise<{ access: ClusterAccess; asked: URL[] }> {
  const asked: URL[] = [];
  const server = await serve({
    handler(request) {
      const url = new URL(request.url);
      asked.push(url);
      if (url.pathname.endsWith("/log")) return new Response("one\ntwo\n");
      const found = answers[url.pathname];
      if (found) return Response.json(found);
      const message = `${url.pathname.split("/").at(-1)} not found`;
      return Response.json({ kind: "Status", status: "Failure", code: 404, message }, { status: 404 });
    },
    upgrade(upgrade: Upgrade) {
      const url = new URL(upgrade.request.url ?? "/", "http://x");
      asked.push(url);
      // Gives back what it gets, tells a size it is told of, and ends with 7.
      void serveStream(upgrade, wantedByQuery(url.searchParams), async ({ stdin, stdout, stderr, resizes }) => {
        if (run) return run();
        if (resizes)
          for await (const { width, height } of resizes) {
            stdout?.write(`${width}x${height}`);
            return { exitCode: 7 };
          }
        if (stdin) for await (const chunk of stdin) stdout?.write(chunk);
        stderr?.write("said beside");
        return { exitCode: 7 };
      });
    },
    listen: { host: "127.0.0.1", port: 0 },
  });
  t.teardown(() => server.close());
  const folder = mkdtempSync(join(tmpdir(), "skiff-look-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "kubeconfig");
  const config = {
    "current-context": "it",
    clusters: [{ name: "it", cluster: { server: `http://127.0.0.1:${server.port}` } }],
    contexts: [{ name: "it", context: { cluster: "it", namespace: "shop" } }],
  };
  writeFileSync(path, JSON.stringify(config));
  const access = await accessByKubeconfig(path);
  t.teardown(() => access.close());
  return { access, asked };
}

function terminal() {
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  return { streams: { stdin, stdout, stderr }, output: readAll(stdout), errors: readAll(stderr) };
}

t.test("inColumns() pads to the widest cell and leaves no blanks at the end", async (t) => {
  t.same(
    inColumns(
      ["a", "bb"],
      [
        ["long", "x"],
        ["s", ""],
      ],
    ),
    ["A      BB", "long   x", "s"],
  );
});

t.test("statusLines() shows nodes, what ails them, pods, restarts and usage", async (t) => {
  const { access } = await cluster(t);
  t.same(await statusLines(access, call), [
    "NODE   STATUS     AGE   VERSION   CPU    MEMORY",
    "pi     NotReady   3d    v1.32.0   250m   512Mi",
    "  pi: Ready: the runtime is away",
    "",
    "NAMESPACE   POD   READY   STATUS             RESTARTS   AGE   NODE   CPU   MEMORY",
    "shop        web   1/2     CrashLoopBackOff   7          2h    pi     3m    2Mi",
  ]);
});

t.test("waitLines() tells what pods wait for, by their newest event", async (t) => {
  const named = (name: string, phase: string, more: object = {}) =>
    ({ metadata: { name, namespace: "shop", uid: `u-${name}`, ...more }, status: { phase } }) as Pod;
  const event = (name: string, message: string, lastTimestamp: string) => ({
    involvedObject: { kind: "Pod", uid: `u-${name}` },
    metadata: {},
    message,
    lastTimestamp,
  });
  const asked: string[] = [];
  const items = [
    event("big", 'Pulling image "big:1": 20.0 of 40.0 MiB', "2026-01-01T00:00:20Z"),
    event("big", "Successfully assigned shop/big to pi", "2026-01-01T00:00:01Z"),
    event("ready", "Started container main", "2026-01-01T00:00:01Z"),
    ...Array.from({ length: 12 }, (_, at) => event(`p${at}`, "0/1 nodes are available", "2026-01-01T00:00:01Z")),
  ];
  const client = {
    request: async (path: string) => {
      asked.push(path);
      return Response.json({ items });
    },
  };
  const access = { client, close() {} } as unknown as ClusterAccess;
  const lines = await waitLines(
    access,
    [
      named("big", "Pending"),
      named("ready", "Running"),
      named("leaves", "Pending", { deletionTimestamp: "2026-01-01T00:00:00Z" }),
      named("silent", "Pending"),
    ],
    call,
  );
  t.same(lines, ['  shop/big: Pulling image "big:1": 20.0 of 40.0 MiB']);
  const crowd = Array.from({ length: 12 }, (_, at) => named(`p${at}`, "Pending"));
  t.equal((await waitLines(access, crowd, call)).at(-1), "  and 2 more that wait");
  asked.length = 0;
  t.same(await waitLines(access, [named("ready", "Running")], call), []);
  t.same(await waitLines({ ...access, nodeName: "pi" }, crowd, call), []);
  t.same(asked, [], "nobody is asked where nobody waits, nor in a node's name");
});

t.test("statusLines() with a node's identity asks only for what a node may see", async (t) => {
  const { access, asked } = await cluster(t);
  const lines = await statusLines({ ...access, nodeName: "pi" }, call);
  t.match(lines[1], /pi +NotReady .* - +-$/);
  t.same(asked.map(({ pathname, searchParams }) => `${pathname} ${searchParams.get("fieldSelector")}`).sort(), [
    "/api/v1/nodes metadata.name=pi",
    "/api/v1/pods spec.nodeName=pi",
  ]);
});

t.test("watchStatus() shows it again until stopped, and tells of a server that is away", async (t) => {
  const { access } = await cluster(t);
  const refuse = () => Promise.reject(new Fault("unavailable", "nothing listens there"));
  const away = { ...access, client: new ApiClient({ fetch: refuse }) };
  for (const { from, expected } of [
    { from: access, expected: /^NODE/ },
    { from: away, expected: /nothing listens there/ },
  ]) {
    const stop = new AbortController();
    const shown: string[] = [];
    const show = (lines: readonly string[]) => {
      if (shown.push(lines[0] ?? "") === 3) stop.abort();
    };
    await watchStatus(from, { clock: systemClock, everyMs: 1, show }, stop);
    t.equal(shown.length, 3);
    for (const line of shown) t.match(line, expected);
  }
});

t.test("showLogs() asks for what was wished, and says which container it took", async (t) => {
  const { access, asked } = await cluster(t);
  const stdout = new PassThrough();
  const written = readAll(stdout);
  const told: string[] = [];
  const wish = { pod: "pod/web", follow: true, previous: true, timestamps: false, tail: 5, sinceSeconds: 60 };
  await showLogs(access, wish, { stdout, tell: (line) => told.push(line) }, call);
  stdout.end();
  t.equal(await written, "one\ntwo\n");
  t.same(told, ['taking container "main" of main, side; -c takes another']);
  t.same(Object.fromEntries(asked.at(-1)?.searchParams ?? []), {
    container: "main",
    follow: "true",
    previous: "true",
    tailLines: "5",
    sinceSeconds: "60",
  });
});

t.test("showLogs() names what is not there in one line", async (t) => {
  const { access } = await cluster(t);
  const wish = { follow: false, previous: false, timestamps: false };
  const out = { stdout: new PassThrough(), tell: () => {} };
  await t.rejects(showLogs(access, { ...wish, pod: "web", container: "no" }, out, call), {
    message: 'Pod "shop/web" has no container "no": main, side, first',
  });
  await t.rejects(showLogs(access, { ...wish, pod: "nobody" }, out, call), { code: "not-found", message: /nobody/ });
});

t.test("execInPod() passes input, both outputs and the exit code", async (t) => {
  const { access, asked } = await cluster(t);
  const { streams, output, errors } = terminal();
  streams.stdin.end("typed");
  const wish = { pod: "web", container: "side", command: ["cat", "-u"], stdin: true, tty: false };
  t.equal(await execInPod(access, wish, streams, call), 7);
  streams.stdout.end();
  streams.stderr.end();
  t.same([await output, await errors], ["typed", "said beside"]);
  t.same(asked.at(-1)?.searchParams.getAll("command"), ["cat", "-u"]);
});

t.test("execInPod() gives a shell's exit codes for programs that cannot be started", async (t) => {
  for (const [why, expected] of [
    ['exec failed: unable to start container process: exec: "nope": executable file not found in $PATH', 127],
    ['exec failed: unable to start container process: exec: "/nope": stat /nope: no such file or directory', 127],
    ["OCI runtime exec failed: executable file `nope` not found in $PATH: No such file or directory", 127],
    ['exec failed: unable to start container process: exec: "/etc/passwd": permission denied', 126],
  ] as const) {
    const { access } = await cluster(t, () => Promise.reject(new Fault("internal", why)));
    const { streams, errors } = terminal();
    const wish = { pod: "web", container: "main", command: ["nope"], stdin: false, tty: false };
    t.equal(await execInPod(access, wish, streams, call), expected, why);
    streams.stderr.end();
    t.match(await errors, why);
  }
  const { access } = await cluster(t, () => Promise.reject(new Fault("conflict", "the container is not running")));
  const wish = { pod: "web", container: "main", command: ["nope"], stdin: false, tty: false };
  await t.rejects(execInPod(access, wish, terminal().streams, call), { message: /is not running/ });
});

t.test("execInPod() with a terminal takes it, tells its size, and gives it back", async (t) => {
  const { access } = await cluster(t);
  const { streams, output } = terminal();
  const modes: boolean[] = [];
  Object.assign(streams.stdin, { isTTY: true, setRawMode: (on: boolean) => modes.push(on) });
  Object.assign(streams.stdout, { isTTY: true, columns: 101, rows: 43 });
  const wish = { pod: "web", container: "main", command: ["sh"], stdin: true, tty: true };
  t.equal(await execInPod(access, wish, streams, call), 7);
  streams.stdout.end();
  t.equal(await output, "101x43");
  t.same(modes, [true, false]);
  t.equal(streams.stdout.listenerCount("resize"), 0);
});

t.test("takeScreen() tells each new size", async (t) => {
  const output = Object.assign(new EventEmitter(), { isTTY: true, columns: 80, rows: 24 });
  const { sizes, giveBack } = takeScreen({ input: {}, output });
  const seen: string[] = [];
  const reading = (async () => {
    for await (const { width, height } of sizes) seen.push(`${width}x${height}`);
  })();
  await until("the first size", () => seen.length === 1);
  Object.assign(output, { columns: 120 });
  output.emit("resize");
  await until("the second size", () => seen.length === 2);
  giveBack();
  await reading;
  t.same(seen, ["80x24", "120x24"]);
});
