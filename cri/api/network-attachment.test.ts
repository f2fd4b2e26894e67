import t from "tap";
import { PodSandboxConfig, Protocol } from "./gen/runtime.js";
import { checkBandwidth, networkAttachment } from "./network-attachment.ts";

const attachment = (config: Partial<PodSandboxConfig>) =>
  networkAttachment("id", "/run/netns/x", PodSandboxConfig.fromPartial(config));

t.test("networkAttachment() tells the network of ports, names and limits", async (t) => {
  const found = attachment({
    metadata: { name: "web", namespace: "shop", uid: "u", attempt: 0 },
    portMappings: [
      { hostPort: 8080, containerPort: 80, protocol: Protocol.UDP, hostIp: "192.0.2.1" },
      { hostPort: 0, containerPort: 81, protocol: Protocol.TCP, hostIp: "" },
    ],
    annotations: { "kubernetes.io/ingress-bandwidth": "10M", "kubernetes.io/egress-bandwidth": "1Gi" },
  });
  t.match(found, { containerId: "id", podName: "web", podNamespace: "shop", podUid: "u" });
  t.same(found.portMappings, [{ hostPort: 8080, containerPort: 80, protocol: "udp", hostIP: "192.0.2.1" }]);
  const burst = 2 ** 31 - 1;
  t.same(found.bandwidth, {
    ingressRate: 10_000_000,
    ingressBurst: burst,
    egressRate: 2 ** 30,
    egressBurst: burst,
  });
  t.notOk("bandwidth" in attachment({}));
});

t.test("checkBandwidth() refuses a limit that nobody can mean", async (t) => {
  const name = "kubernetes.io/egress-bandwidth";
  for (const rate of ["1", "2P", "fast"]) {
    t.throws(() => checkBandwidth({ [name]: rate }), { code: "invalid", message: /not between 1k and 1P/ }, rate);
    t.notOk("bandwidth" in attachment({ annotations: { [name]: rate } }), "and nothing is detached by it");
  }
  checkBandwidth({ [name]: "10M" });
});
