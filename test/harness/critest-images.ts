// The images that critest pulls, under the names it knows, made on the spot: busybox in every role, web servers of busybox's httpd.

import { execFileSync } from "node:child_process";
import { busyboxEntries, imageOf, layerOf, type TestEntry, type TestImage } from "./image-builder.ts";
import type { TestRegistry } from "./registry.ts";

/** Serves a page on the port, under the name and with the pid file of the program it stands for. */
function webServer(name: string, port: number, words: string): TestEntry[] {
  const script = `#!/bin/sh
trap 'kill $!; exit 0' TERM INT
echo $$ > /var/run/${name}.pid
${words ? `echo ${words}` : ":"}
httpd -f -p ${port} -h /www &
wait
`;
  return [
    { name: `bin/${name}`, content: script, mode: 0o755 },
    { name: "www", type: "5" },
    { name: "www/index.html", content: `<h1>Welcome to ${name}</h1>\n` },
  ];
}

/** What the host's busybox may be built without. */
const scripts: TestEntry[] = [
  {
    name: "bin/pgrep",
    content: '#!/bin/sh\nfor p in /proc/[0-9]*; do [ "$(cat $p/comm)" = "$1" ] && echo ${p#/proc/}; done; true\n',
    mode: 0o755,
  },
  { name: "bin/ipcs", content: "#!/bin/sh\ncat /proc/sysvipc/shm\n", mode: 0o755 },
];

function image(settings: Record<string, unknown>, ...entries: TestEntry[]): TestImage {
  // Docker takes the mode of a hard link for the file itself.
  const link = (applet: string) => ({ name: `bin/${applet}`, type: "1", link: "bin/busybox", mode: 0o755 });
  const base: TestEntry[] = [
    // Names of their own for all programs: one that is masked must not take the others with it.
    ...busyboxEntries().filter(({ name, type }) => type !== "2" && !name.startsWith("etc/")),
    ...applets().map(link),
    ...scripts,
    { name: "var/run", type: "5" },
    {
      name: "etc/passwd",
      content: [
        "root:x:0:0:root:/root:/bin/sh",
        "www-data:x:33:33::/:/bin/sh",
        "nobody:x:65534:65534::/:/bin/sh",
        "default-user:x:1000:1000::/:/bin/sh\n",
      ].join("\n"),
    },
    {
      name: "etc/group",
      content:
        "root:x:0:\nwww-data:x:33:\nusers:x:100:\nnobody:x:65534:\ngroup-defined-in-image:x:50000:default-user\n",
    },
  ];
  return imageOf([layerOf([...base, ...entries])], { Env: ["PATH=/bin"], Cmd: ["sh"], ...settings });
}

const applets = () =>
  execFileSync("/bin/busybox", ["--list"], { encoding: "utf8" })
    .split("\n")
    .filter((name) => name !== "" && name !== "busybox");

/** Adds all of them. `arch` as Go spells it. */
export function addCritestImages(registry: TestRegistry): void {
  const tools = (name: string) => `k8s-staging-cri-tools/${name}`;
  const arch = process.arch === "arm64" ? "arm64" : "amd64";
  const marked = (mark: string) => image({ Labels: { mark } }, { name: "mark", content: mark });
  const all: [repository: string, tag: string, TestImage][] = [
    ["e2e-test-images/busybox", "1.29-2", image({})],
    ["e2e-test-images/nginx", "1.14-2", image({ Cmd: ["nginx", "master process"] }, ...webServer("nginx", 80, ""))],
    [
      "e2e-test-images/httpd",
      "2.4.39-4",
      image({ Cmd: ["httpd-foreground"] }, ...webServer("httpd-foreground", 80, "httpd")),
    ],
    [
      tools(`hostnet-nginx-${arch}`),
      "latest",
      image({ Cmd: ["nginx", "master process"] }, ...webServer("nginx", 12003, "")),
    ],
    [tools("test-image-user-uid"), "latest", image({ User: "1002" })],
    [tools("test-image-user-username"), "latest", image({ User: "www-data" })],
    [tools("test-image-user-uid-group"), "latest", image({ User: "1003:users" })],
    [tools("test-image-user-username-group"), "latest", image({ User: "www-data:100" })],
    [tools("test-image-predefined-group"), "latest", image({ User: "1000" })],
    [tools("test-image-latest"), "latest", marked("latest")],
    [tools("test-image-tag"), "test", marked("tag")],
    [tools("test-image-tag"), "all", marked("all")],
    ["pause", "3.9", marked("pause")],
  ];
  for (const at of ["1", "2", "3"]) {
    all.push([tools(`test-image-${at}`), "latest", marked(at)]);
    all.push([tools("test-image-tags"), at, marked("same")]);
  }
  for (const [repository, tag, made] of all) registry.add(repository, tag, made);
}
