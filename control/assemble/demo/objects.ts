// What the demo runs: three small web servers and a Service in front of them, in a namespace of their own.

import { type ResourceRef, resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";

export const demoNamespace = "skiff-demo";
export const demoImageName = "skiff.local/demo:1";
export const demoReplicas = 3;

const labels = { app: "web" };
const script =
  "mkdir -p /tmp/www && echo hello from $(hostname) > /tmp/www/index.html && echo serving on 8080 && exec httpd -f -v -p 8080 -h /tmp/www";
const container = {
  name: "web",
  image: demoImageName,
  imagePullPolicy: "Never",
  command: ["sh", "-c", script],
  ports: [{ containerPort: 8080 }],
  readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
  resources: { requests: { cpu: "10m", memory: "8Mi" } },
};
const metadata = { name: "web", namespace: demoNamespace };

export const demoObjects: readonly [ResourceRef, KubeObject][] = [
  [resources.namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: demoNamespace } }],
  [
    resources.deployments,
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata,
      spec: {
        replicas: demoReplicas,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { terminationGracePeriodSeconds: 1, containers: [container] } },
      },
    },
  ],
  [
    resources.services,
    {
      apiVersion: "v1",
      kind: "Service",
      metadata,
      spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
    },
  ],
];
