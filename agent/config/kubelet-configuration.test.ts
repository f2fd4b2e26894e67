// What /configz tells, in upstream's words.

import t from "tap";
import { agentConfig } from "./agent-config.ts";
import { evictionThresholds } from "./eviction-thresholds.ts";
import { kubeletConfiguration } from "./kubelet-configuration.ts";

t.test("kubeletConfiguration() tells upstream's fields", async (t) => {
  t.match(kubeletConfiguration(agentConfig({ nodeName: "pi", clusterDns: ["10.43.0.10"], cgroupRoot: "skiff" })), {
    port: 10250,
    readOnlyPort: 0,
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true } },
    authorization: { mode: "Webhook" },
    clusterDNS: ["10.43.0.10"],
    imageMinimumGCAge: "2m0s",
    imageMaximumGCAge: "0s",
    cgroupRoot: "/skiff",
    maxPods: 110,
    evictionHard: {
      "memory.available": "100Mi",
      "nodefs.available": "10%",
      "nodefs.inodesFree": "5%",
      "imagefs.available": "15%",
    },
    containerLogMaxSize: "10Mi",
    containerLogMaxFiles: 5,
    shutdownGracePeriod: "0s",
    registerNode: true,
  });
});

t.test("kubeletConfiguration() tells soft thresholds with their grace, and what is freed beyond them", async (t) => {
  const { eviction } = agentConfig({});
  const thresholds = evictionThresholds({
    hard: ["pid.available<0"],
    soft: ["memory.available<300Mi", "nodefs.available<15%"],
    softGracePeriods: ["memory.available=1m30s", "nodefs.available=1h"],
    minimumReclaims: ["nodefs.available=1Gi"],
  });
  const told = kubeletConfiguration(agentConfig({ eviction: { ...eviction, thresholds, maxPodGraceSeconds: 30 } }));
  t.notOk((told["evictionHard"] as Record<string, string>)["pid.available"], "switched off");
  t.match(told, {
    evictionSoft: { "memory.available": "300Mi", "nodefs.available": "15%" },
    evictionSoftGracePeriod: { "memory.available": "1m30s", "nodefs.available": "1h0m0s" },
    evictionMaxPodGracePeriod: 30,
    evictionMinimumReclaim: { "nodefs.available": "1Gi" },
    evictionPressureTransitionPeriod: "5m0s",
  });
});
