// Every built-in filter, in the order they are asked: cheap and most telling first.

import { interPodAffinity } from "./inter-pod-affinity.ts";
import { nodeAffinity } from "./node-affinity.ts";
import { nodeLabelPresence } from "./node-label-presence.ts";
import { nodeName } from "./node-name.ts";
import { nodePorts } from "./node-ports.ts";
import { nodeResourcesFit } from "./node-resources-fit.ts";
import { nodeUnschedulable } from "./node-unschedulable.ts";
import { nodeVolumeLimits } from "./node-volume-limits.ts";
import { podTopologySpread } from "./pod-topology-spread.ts";
import { serviceAffinity } from "./service-affinity.ts";
import { taintToleration } from "./taint-toleration.ts";
import { volumeBinding } from "./volume-binding.ts";
import { volumeRestrictions } from "./volume-restrictions.ts";
import { volumeZone } from "./volume-zone.ts";

export const filters = [
  nodeUnschedulable,
  nodeName,
  taintToleration,
  nodeAffinity,
  nodeLabelPresence,
  nodePorts,
  nodeResourcesFit,
  volumeRestrictions,
  nodeVolumeLimits,
  volumeBinding,
  volumeZone,
  serviceAffinity,
  podTopologySpread,
  interPodAffinity,
];
