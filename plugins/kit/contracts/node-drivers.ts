// The storage drivers of this node, as the cluster is told of them: the node's CSINode object, its annotation and its topology labels.

import { type Kind, kind } from "../base/plugin.ts";

export interface NodeDriver {
  readonly name: string;
  /** What the driver itself calls this node. */
  readonly nodeId: string;
  /** How many volumes it can serve here at once; absent when it sets no limit. */
  readonly maxVolumes?: number;
  /** Where this node lies, by the driver's own keys. */
  readonly topology: Readonly<Record<string, string>>;
}

/** The agent keeps the objects in line, also when the API server cannot be reached right now. */
export interface NodeDrivers {
  readonly nodeName: string;
  set(driver: NodeDriver): void;
  remove(name: string): void;
}

export const nodeDriversKind: Kind<NodeDrivers> = kind("node-drivers");
