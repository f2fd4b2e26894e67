// Every built-in score, with upstream's default weights; a weight of 0 is off until a profile turns it on.

import { balancedAllocation } from "./balanced-allocation.ts";
import { imageLocality } from "./image-locality.ts";
import { interPodAffinityScore } from "./inter-pod-affinity.ts";
import { leastAllocated } from "./least-allocated.ts";
import { mostAllocated } from "./most-allocated.ts";
import { nodeAffinityScore } from "./node-affinity.ts";
import { nodeLabelPreference } from "./node-label-preference.ts";
import { podTopologySpreadScore } from "./pod-topology-spread.ts";
import { requestedToCapacityRatio } from "./requested-to-capacity-ratio.ts";
import { taintTolerationScore } from "./taint-toleration.ts";
import { volumeBindingScore } from "./volume-binding.ts";

export const scores = [
  taintTolerationScore,
  nodeAffinityScore,
  podTopologySpreadScore,
  interPodAffinityScore,
  leastAllocated,
  balancedAllocation,
  imageLocality,
  mostAllocated,
  requestedToCapacityRatio,
  volumeBindingScore,
  nodeLabelPreference,
];
