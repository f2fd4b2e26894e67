// What a node can be told on the command line or in the config file.

import { portProblem as port, type Setting } from "../../plugins/kit/base/settings.ts";
import { tuningSettings } from "../config/agent-settings.ts";

export const agentSettings: Setting[] = [
  { name: "node-name", type: "text", value: "name", help: "this node's name (default: the host name)" },
  {
    name: "node-ip",
    type: "text",
    value: "ip",
    help: "this node's address, or one of each family with a comma between (default: that of the default route)",
  },
  { name: "node-label", type: "list", value: "key=value", help: "labels this node registers with" },
  { name: "node-taint", type: "list", value: "key=value:effect", help: "taints this node registers with" },
  { name: "register-node", type: "switch", default: true, help: "register this node with the API server" },
  { name: "kubelet-port", type: "number", value: "port", default: 10250, check: port, help: "the kubelet API's port" },
  {
    name: "read-only-port",
    type: "number",
    value: "port",
    default: 0,
    check: port,
    help: "pods and stats without credentials, as old tools expect on 10255; 0 is off",
  },
  {
    name: "ui-port",
    type: "number",
    value: "port",
    default: 4194,
    check: port,
    help: "the web page on loopback; 0 is off",
  },
  {
    name: "healthz-port",
    type: "number",
    value: "port",
    default: 10248,
    check: port,
    help: "health on loopback; 0 is off",
  },
  {
    name: "proxy-healthz-port",
    type: "number",
    value: "port",
    default: 10256,
    check: port,
    help: "health of the service proxy, for load balancers; 0 is off",
  },
  {
    name: "proxy-metrics-port",
    type: "number",
    value: "port",
    default: 10249,
    check: port,
    help: "metrics and mode of the service proxy on loopback; 0 is off",
  },
  {
    name: "runtime",
    type: "text",
    value: "runtime",
    default: "auto",
    help: "auto, containerd, docker, native or unix:///path.sock",
  },
  {
    name: "cluster-dns",
    type: "text",
    value: "ip",
    help: "address of the cluster's DNS (default: the tenth of --service-cidr; a node that joins: the server's)",
  },
  {
    name: "cluster-domain",
    type: "text",
    value: "name",
    help: "domain of the cluster's DNS (default: cluster.local; a node that joins: the server's)",
  },
  { name: "manifest-dir", type: "text", value: "path", help: "run the static pods in this folder" },
  { name: "manifest-url", type: "text", value: "url", help: "run the static pods found at this address" },
  { name: "max-pods", type: "number", value: "count", default: 110, help: "how many pods this node takes" },
  { name: "stop-pods-on-exit", type: "switch", default: false, help: "take the pods down when the program stops" },
  ...tuningSettings,
];

/** How a node finds its cluster. */
export const joinSettings: Setting[] = [
  { name: "server", type: "list", value: "https://…", help: "the Skiff server to join; several for failover" },
  { name: "token", type: "text", value: "token", help: "what `skiff token create` printed on the server" },
  {
    name: "node-line",
    type: "switch",
    default: true,
    help: "hold a line open to the server, which reaches this node by it from behind NAT too",
  },
  { name: "kubeconfig", type: "text", value: "file", help: "join any Kubernetes API server by this kubeconfig" },
  {
    name: "bootstrap-kubeconfig",
    type: "text",
    value: "file",
    help: "ask any Kubernetes API server for the node's own certificate with these credentials; --kubeconfig is written",
  },
  {
    name: "cluster-cidr",
    type: "text",
    value: "cidr",
    help: "addresses of pods; two with a comma between for both families (default: 10.42.0.0/16; a node that joins: the server's)",
  },
  {
    name: "service-cidr",
    type: "text",
    value: "cidr",
    help: "addresses of services; two with a comma between for both families (default: 10.43.0.0/16; a node that joins: the server's)",
  },
];

/** Of `skiff cri`. */
export const criSettings: readonly Setting[] = [
  {
    name: "listen",
    type: "text",
    value: "unix:///path.sock",
    default: "unix:///run/skiff/cri.sock",
    help: "the socket to serve CRI v1 on",
  },
  {
    name: "cni-conf-dir",
    type: "text",
    value: "path",
    default: "/etc/cni/net.d",
    help: "where network lists are read from",
  },
  { name: "docker-socket", type: "text", value: "path", help: "the Docker daemon's socket (default: found)" },
  {
    name: "sandbox-image",
    type: "text",
    value: "image",
    help: "what holds a pod's namespaces (docker; default: our own)",
  },
];
