// What `skiff status`, `skiff logs` and `skiff exec` can be told.

import type { Setting } from "../../plugins/kit/base/settings.ts";

const flag = (name: string, short: string, help: string): Setting => ({
  name,
  short,
  type: "switch",
  default: false,
  help,
});
const kubeconfig: Setting = {
  name: "kubeconfig",
  type: "text",
  value: "file",
  help: "ask this cluster (default: the one on this box)",
};
const ofPod: readonly Setting[] = [
  kubeconfig,
  { name: "namespace", short: "n", type: "text", value: "name", help: "the pod's namespace" },
  { name: "container", short: "c", type: "text", value: "name", help: "the container (default: the first)" },
];

export const statusSettings: readonly Setting[] = [kubeconfig, flag("watch", "w", "show it anew every 2 seconds")];
export const logsSettings: readonly Setting[] = [
  ...ofPod,
  flag("follow", "f", "go on as more is written"),
  flag("previous", "p", "of the container before its last restart"),
  flag("timestamps", "t", "begin each line with its time"),
  { name: "tail", type: "number", value: "lines", default: -1, help: "only the last lines; -1 for all" },
  { name: "since", type: "text", value: "time", help: "only what is younger, such as 10m" },
];
export const execSettings: readonly Setting[] = [
  ...ofPod,
  flag("stdin", "i", "pass this terminal's input on"),
  flag("tty", "t", "give the command a terminal"),
];
