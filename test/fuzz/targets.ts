// Every fuzz target. A decoder of bytes from outside belongs here.

import type { Target } from "./target.ts";
import { apiRequest } from "./targets/api-request.ts";
import { celTarget } from "./targets/cel.ts";
import { cniConfig, cniResult } from "./targets/cni.ts";
import { cron } from "./targets/cron.ts";
import { dns } from "./targets/dns.ts";
import { http1, http2 } from "./targets/http.ts";
import { json } from "./targets/json.ts";
import { jsonPath } from "./targets/json-path.ts";
import { kubeconfig } from "./targets/kubeconfig.ts";
import { ociLayer } from "./targets/oci-layer.ts";
import { imageReference, ociConfig, ociManifest } from "./targets/oci.ts";
import { jsonPatch, mergePatch, strategicPatch } from "./targets/patches.ts";
import { protobuf } from "./targets/protobuf.ts";
import { quantity } from "./targets/quantity.ts";
import { fieldSelector, labelSelector } from "./targets/selectors.ts";
import { spdy } from "./targets/spdy.ts";
import { bearer, joinToken, jwt } from "./targets/tokens.ts";
import { webSocket } from "./targets/web-socket.ts";
import { certificates } from "./targets/x509.ts";
import { yaml } from "./targets/yaml.ts";

export const targets: readonly Target[] = [
  http1,
  http2,
  apiRequest,
  json,
  yaml,
  protobuf,
  spdy,
  webSocket,
  dns,
  cniResult,
  cniConfig,
  ociManifest,
  ociConfig,
  ociLayer,
  imageReference,
  kubeconfig,
  jwt,
  joinToken,
  bearer,
  certificates,
  celTarget,
  jsonPath,
  jsonPatch,
  mergePatch,
  strategicPatch,
  quantity,
  cron,
  labelSelector,
  fieldSelector,
];
