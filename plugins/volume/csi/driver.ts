// One storage driver behind its socket: the calls of the CSI node service that a node makes.

import type { Client } from "@grpc/grpc-js";
import { ask, socketClient } from "../../../cri/api/grpc-ask.ts";
import type { MethodTable } from "../../../cri/api/grpc-service.ts";
import { type Call, within } from "../../kit/base/call.ts";
import {
  NodeDefinition,
  NodeExpandVolumeRequest,
  type NodeGetCapabilitiesResponse,
  type NodeGetInfoResponse,
  type NodeGetVolumeStatsResponse,
  NodePublishVolumeRequest,
  NodeServiceCapability_RPC_Type as Feature,
  NodeStageVolumeRequest,
} from "./gen/csi.js";

// Formatting a large disk takes its time; upstream's bound is the same.
const longestCallMs = 120_000;

export interface DriverFeatures {
  readonly stages: boolean;
  readonly tellsUsage: boolean;
  readonly expands: boolean;
  readonly knowsSingleWriter: boolean;
  readonly setsGroup: boolean;
}

export class CsiDriver {
  readonly name: string;
  readonly #client: Client;
  #features: DriverFeatures | undefined;

  constructor(name: string, socket: string) {
    this.name = name;
    this.#client = socketClient(socket);
  }

  async features(call: Call): Promise<DriverFeatures> {
    if (this.#features) return this.#features;
    const { nodeGetCapabilities } = NodeDefinition.methods;
    const answer = (await this.#ask(nodeGetCapabilities, {}, call)) as NodeGetCapabilitiesResponse;
    const types = new Set(answer.capabilities.map(({ rpc }) => rpc?.type));
    this.#features = {
      stages: types.has(Feature.STAGE_UNSTAGE_VOLUME),
      tellsUsage: types.has(Feature.GET_VOLUME_STATS),
      expands: types.has(Feature.EXPAND_VOLUME),
      knowsSingleWriter: types.has(Feature.SINGLE_NODE_MULTI_WRITER),
      setsGroup: types.has(Feature.VOLUME_MOUNT_GROUP),
    };
    return this.#features;
  }

  async info(call: Call): Promise<NodeGetInfoResponse> {
    return (await this.#ask(NodeDefinition.methods.nodeGetInfo, {}, call)) as NodeGetInfoResponse;
  }

  async stage(request: Partial<NodeStageVolumeRequest>, call: Call): Promise<void> {
    await this.#ask(NodeDefinition.methods.nodeStageVolume, NodeStageVolumeRequest.create(request), call);
  }

  async unstage(volumeId: string, stagingTargetPath: string, call: Call): Promise<void> {
    await this.#ask(NodeDefinition.methods.nodeUnstageVolume, { volumeId, stagingTargetPath }, call);
  }

  async publish(request: Partial<NodePublishVolumeRequest>, call: Call): Promise<void> {
    await this.#ask(NodeDefinition.methods.nodePublishVolume, NodePublishVolumeRequest.create(request), call);
  }

  async unpublish(volumeId: string, targetPath: string, call: Call): Promise<void> {
    await this.#ask(NodeDefinition.methods.nodeUnpublishVolume, { volumeId, targetPath }, call);
  }

  async expand(request: Partial<NodeExpandVolumeRequest>, call: Call): Promise<void> {
    await this.#ask(NodeDefinition.methods.nodeExpandVolume, NodeExpandVolumeRequest.create(request), call);
  }

  async stats(
    volumeId: string,
    volumePath: string,
    stagingTargetPath: string,
    call: Call,
  ): Promise<NodeGetVolumeStatsResponse> {
    const { nodeGetVolumeStats } = NodeDefinition.methods;
    const message = { volumeId, volumePath, stagingTargetPath };
    return (await this.#ask(nodeGetVolumeStats, message, call)) as NodeGetVolumeStatsResponse;
  }

  close(): void {
    this.#client.close();
  }

  #ask(method: MethodTable, message: object, call: Call): Promise<unknown> {
    const question = { service: NodeDefinition, method, message, of: `CSI driver "${this.name}"` };
    return ask(this.#client, question, within(longestCallMs, call));
  }
}
