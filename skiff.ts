// The program: the table of commands. The only file that knows both rooms, agent and control.

import { agentSettings, criSettings, joinSettings } from "./agent/assemble/settings.ts";
import type { NodeAccess } from "./control/assemble/cli-commands.ts";
import { execSettings, logsSettings, statusSettings } from "./control/assemble/cli-settings.ts";
import { controlSettings } from "./control/assemble/settings.ts";
import { within } from "./plugins/kit/base/call.ts";
import { systemClock } from "./plugins/kit/base/clock.ts";
import { type Command, type CommandContext, runCommandLine } from "./plugins/kit/os/command-line.ts";
import { Fault } from "./plugins/kit/base/fault.ts";
import { openInstance, tellReady, whenReady } from "./plugins/kit/os/instance.ts";
import { logLevels } from "./plugins/kit/base/log.ts";
import type { Setting, Settings } from "./plugins/kit/base/settings.ts";

const everywhere: Setting[] = [
  {
    name: "config",
    type: "text",
    value: "file.yaml",
    help: "read settings from this file; every flag may stand there",
  },
  {
    name: "data-dir",
    type: "text",
    value: "path",
    default: "/var/lib/skiff",
    help: "everything on disk lives below it",
  },
  { name: "log-level", type: "text", value: "level", default: "info", choices: logLevels, help: "how much to tell" },
];
const plugged: Setting[] = [
  { name: "plugins", type: "list", value: "file", help: "your own plugins: files or package names" },
  { name: "plugin-settings", type: "mapping", help: "settings by plugin name: { dns: { upstreams: [9.9.9.9] } }" },
];
/** Facts of the box that a control plane without a node needs, too. */
const nodeFacts = agentSettings.filter(({ name }) => ["node-ip", "cluster-dns", "cluster-domain"].includes(name));

/** Of every way to run: rooms share the names of some, and each is here once. */
const allSettings: readonly Setting[] = [
  ...new Map(
    [...everywhere, ...controlSettings, ...agentSettings, ...joinSettings, ...plugged].map((one) => [one.name, one]),
  ).values(),
];

/** Of commands that speak of the instance on this box: its settings are those of the installed service. */
const ofThisBox = { usesInstalledConfig: true, fileSettings: allSettings };

const nodeAccess: NodeAccess = async (settings) =>
  (await import("./agent/assemble/node-access.ts")).nodeAccess(settings);

const commands: readonly Command[] = [
  {
    name: "up",
    help: "a cluster on this box: control plane and node in one process",
    settings: [...everywhere, ...controlSettings, ...agentSettings, ...plugged],
    run: up,
  },
  {
    name: "server",
    help: "the control plane only",
    settings: [...everywhere, ...controlSettings, ...nodeFacts, ...plugged],
    async run(settings, context) {
      const { serverCommand } = await import("./control/assemble/server-command.ts");
      await serverCommand(settings, context);
    },
  },
  {
    name: "agent",
    help: "a node only: joins a Skiff server, any Kubernetes API server, or runs static pods alone",
    settings: [...everywhere, ...agentSettings, ...joinSettings, ...plugged],
    async run(settings, context) {
      const { agentCommand } = await import("./agent/assemble/agent-command.ts");
      await agentCommand(settings, context);
    },
  },
  {
    name: "status",
    help: "nodes and pods, their restarts and what they use",
    ...ofThisBox,
    settings: [...everywhere, ...statusSettings],
    async run(settings, { signal }) {
      const { statusCommand } = await import("./control/assemble/cli-commands.ts");
      await statusCommand(settings, nodeAccess, { signal });
    },
  },
  {
    name: "logs",
    help: "what a container of a pod wrote",
    words: "<pod>",
    ...ofThisBox,
    settings: [...everywhere, ...logsSettings],
    async run(settings, { words, signal }) {
      const { logsCommand } = await import("./control/assemble/cli-commands.ts");
      await logsCommand(words[0] ?? "", settings, nodeAccess, { signal });
    },
  },
  {
    name: "exec",
    help: "run a command in a container of a pod: skiff exec -it web -- sh",
    words: "<pod> [command...]",
    ...ofThisBox,
    settings: [...everywhere, ...execSettings],
    async run(settings, { words, signal }) {
      const { execCommand } = await import("./control/assemble/cli-commands.ts");
      process.exitCode = await execCommand(words, settings, nodeAccess, { signal });
    },
  },
  {
    name: "kubeconfig",
    help: "print the administrator's kubeconfig, for use on another box with --server",
    ...ofThisBox,
    settings: [...everywhere, { name: "server", type: "text", value: "https://…", help: "the address to put into it" }],
    async run(settings) {
      const { kubeconfigCommand } = await import("./control/assemble/commands.ts");
      kubeconfigCommand(String(settings["data-dir"]), settings.server as string | undefined, printLine);
    },
  },
  {
    name: "token",
    help: "join tokens for further nodes: create, list, delete <id>",
    words: "<action> [id]",
    ...ofThisBox,
    settings: [
      ...everywhere,
      { name: "ttl", type: "text", value: "time", default: "24h", help: "how long the token is good; 0 for ever" },
      { name: "description", type: "text", value: "text", help: "what the token is for" },
    ],
    async run(settings, { words, signal }) {
      const { tokenCommand } = await import("./control/assemble/commands.ts");
      const [action = "", id] = words;
      const wish = { action, id, ttl: String(settings.ttl), description: settings.description as string | undefined };
      await tokenCommand(wish, String(settings["data-dir"]), printLine, { signal });
    },
  },
  {
    name: "ui",
    help: "print a link to this node's page that signs in",
    ...ofThisBox,
    settings: [
      ...everywhere,
      { name: "ttl", type: "text", value: "time", default: "8h", help: "how long the link signs in" },
    ],
    async run(settings, { signal }) {
      const { uiCommand } = await import("./control/assemble/ui-command.ts");
      await uiCommand(String(settings.ttl), String(settings["data-dir"]), printLine, { signal });
    },
  },
  {
    name: "demo",
    help: "show what the cluster on this box does: start, remove",
    words: "[action]",
    ...ofThisBox,
    settings: [...everywhere, ...nodeFacts.filter(({ name }) => name === "cluster-domain")],
    async run(settings, { words, signal }) {
      const { demoCommand } = await import("./control/assemble/demo/demo.ts");
      const clusterDomain = String(settings["cluster-domain"] ?? "cluster.local");
      const wish = { dataDir: String(settings["data-dir"]), action: words[0] ?? "start", clusterDomain };
      await demoCommand(wish, printLine, { signal });
    },
  },
  {
    name: "secrets",
    help: "the key that secrets are encrypted with in the store: rotate",
    words: "<action>",
    ...ofThisBox,
    settings: everywhere,
    async run(settings, { words, signal }) {
      const { secretsCommand } = await import("./control/assemble/commands.ts");
      await secretsCommand(words[0] ?? "", String(settings["data-dir"]), printLine, { signal });
    },
  },
  {
    name: "snapshot",
    help: "copies of the store, online and checksummed: save, list, restore <file>",
    words: "<action> [file]",
    ...ofThisBox,
    settings: everywhere,
    async run(settings, { words, signal }) {
      const { snapshotCommand } = await import("./control/assemble/snapshot-command.ts");
      const [action = "", file] = words;
      await snapshotCommand({ action, file }, String(settings["data-dir"]), systemClock, printLine, { signal });
    },
  },
  {
    name: "restore",
    help: "put a snapshot in the place of the store, while no server runs",
    words: "<file>",
    ...ofThisBox,
    settings: everywhere,
    async run(settings, { words }) {
      const { restoreCommand } = await import("./control/assemble/snapshot-command.ts");
      await restoreCommand(words[0], String(settings["data-dir"]), systemClock, printLine);
    },
  },
  {
    name: "check",
    help: "look for what keeps a cluster from running well here, with the fix of each thing",
    usesInstalledConfig: true,
    settings: [
      ...allSettings,
      {
        name: "output",
        short: "o",
        type: "text",
        value: "format",
        choices: ["text", "json"],
        default: "text",
        help: "text, or json for programs",
      },
    ],
    async run(settings, { signal }) {
      const { checkCommand } = await import("./agent/assemble/check-command.ts");
      if (!(await checkCommand(settings, printLine, { signal }))) process.exitCode = 1;
    },
  },
  {
    name: "install",
    help: "install this program as a systemd service that runs up (the default), server or agent",
    words: "[mode]",
    settings: [
      { name: "set", type: "list", value: "key=value", help: "a setting for /etc/skiff/config.yaml" },
      { name: "dry-run", type: "switch", default: false, help: "only say what would be done" },
      { name: "start", type: "switch", default: true, help: "do not start the service" },
      { name: "force", type: "switch", default: false, help: "install in spite of what is found wrong" },
    ],
    async run(settings, { words }) {
      const { installCommand } = await import("./agent/assemble/install-command.ts");
      process.exitCode = installCommand(words[0], settings);
    },
  },
  {
    name: "uninstall",
    help: "remove every process, mount, interface, rule, cgroup and file that Skiff made on this box",
    usesInstalledConfig: true,
    settings: [
      ...allSettings,
      { name: "yes", type: "switch", default: false, help: "do not ask before the data dir is deleted" },
      { name: "keep-data", type: "switch", default: false, help: "leave the data dir and the settings" },
      { name: "dry-run", type: "switch", default: false, help: "only say what would be removed" },
      {
        name: "this-instance-only",
        type: "switch",
        default: false,
        help: "leave the installed program; for a trial with a --data-dir of its own",
      },
    ],
    async run(settings, { log, signal }) {
      const { uninstallCommand } = await import("./agent/assemble/uninstall-command.ts");
      const parts = { settings, log, clock: systemClock, say: printLine };
      await uninstallCommand(parts, process.env["DESTDIR"] ?? "", { signal });
    },
  },
  {
    name: "reference",
    help: "print every command, flag and config key as Markdown",
    settings: [],
    async run() {
      const [{ referenceText }, { settablePlugins }] = await Promise.all([
        import("./plugins/kit/os/reference.ts"),
        import("./control/assemble/plugin-settings.ts"),
      ]);
      process.stdout.write(referenceText(commands, ["up", "server", "agent"], await settablePlugins()));
    },
  },
  {
    name: "cri",
    help: "serve a runtime of ours on a CRI socket, for crictl or a stock kubelet: docker, native",
    words: "<runtime>",
    settings: [...everywhere, ...criSettings],
    async run(settings, { words, log, signal }) {
      const { serveCri } = await import("./agent/assemble/cri-command.ts");
      await serveCri(words[0] ?? "", settings, { log, clock: systemClock, say: printLine }, { signal });
    },
  },
];

const printLine = (line: string) => void process.stdout.write(`${line}\n`);

async function up(settings: Settings, { log, signal }: CommandContext): Promise<void> {
  const startedAt = performance.now();
  const [
    { openServer },
    { daemonFetches, tellControlPlaneRole },
    { checkPluginSettings },
    { openNode },
    config,
    { checkNetworks },
    { checkPort },
  ] = await Promise.all([
    import("./control/assemble/server.ts"),
    import("./control/bootstrap/control-plane-node.ts"),
    import("./control/assemble/plugin-settings.ts"),
    import("./agent/assemble/node.ts"),
    import("./agent/assemble/node-config.ts"),
    import("./plugins/kit/os/net/claim.ts"),
    import("./plugins/kit/os/platform/listen.ts"),
  ]);
  const nodeName = config.nodeNameFrom(settings);
  const port = settings["https-port"];
  if (port === settings["kubelet-port"] && port !== 0)
    throw new Fault("invalid", `Bad value for --kubelet-port: ${port} is --https-port already; choose two ports`);
  const instance = await openInstance(settings, log);
  checkPluginSettings(settings, instance.userPlugins);
  // Before the server writes anything: the store keeps the ranges that it was first opened with.
  checkNetworks(config.ownNetworks(settings));
  await checkPort({ host: "::", port: Number(settings["kubelet-port"]) }, "kubelet-port");
  const common = { settings, userPlugins: instance.userPlugins, log, clock: systemClock };
  const server = await openServer({ ...common, nodeName, hasNode: true }, { signal });
  const running = server.control.run({ signal });
  // The agent speaks to the API in this process, with its node's own identity: authorization applies, no socket is crossed.
  const user = { name: `system:node:${nodeName}`, groups: ["system:nodes", "system:authenticated"] };
  const { pki } = server.control;
  const identity = { clientCa: pki.ca.cert, serving: pki.kubeletServing };
  const fetchAs = server.control.fetchAs;
  const daemons = daemonFetches(nodeName, fetchAs);
  const node = await openNode({ ...common, api: { fetch: fetchAs(user), fetchAs, daemons }, identity });
  await whenReady(node.agent, systemClock, signal);
  if (!signal.aborted) await tellControlPlaneRole(nodeName, { fetchAs, log, clock: systemClock }, { signal });
  const { kubeconfigPath } = server;
  await tellReady(
    { node: nodeName, runtime: node.runtimeName, startedAt, kubeconfig: kubeconfigPath },
    nextSteps(kubeconfigPath),
    signal,
  );
  await node.close(within(60_000));
  await running;
  await server.close();
  instance.release();
}

function nextSteps(kubeconfig: string): string {
  return `
Try, in another terminal:
  export KUBECONFIG=${kubeconfig}
  kubectl get nodes
  kubectl create deployment web --image=nginx --replicas=2
`;
}

const help = `
First steps on a fresh box:
  skiff up                                       start a cluster here (as root)
  export KUBECONFIG=/var/lib/skiff/admin.kubeconfig
  kubectl get nodes,pods -A                      look at it with any kubectl
  skiff status                                   or without one; skiff logs and skiff exec, too

skiff <command> --help tells what a command takes.`;

// Whoever reads may leave before the end (`skiff status | head`): what is said after that is lost, and that is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});
await runCommandLine(commands, help, process.argv.slice(2));
