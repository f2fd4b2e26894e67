// A provider of countable devices: host devices from the configuration, or a device plugin behind its socket.

import type { Call } from "../../../plugins/kit/base/call.ts";
import type { Allotment } from "../contract.ts";

export interface DeviceState {
  readonly id: string;
  readonly isHealthy: boolean;
}

export interface DeviceProvider {
  /** The extended resource, such as `example.com/camera`. */
  readonly resource: string;
  devices(): readonly DeviceState[];
  /** Which of the free ones to take, where the provider has a preference. */
  prefer?(available: readonly string[], count: number, call: Call): Promise<readonly string[]>;
  /** What a container must be given for these devices. Asked once; the answer is remembered for as long as the pod has them. */
  allocate(ids: readonly string[], call: Call): Promise<Partial<Allotment>>;
  /** Gets the devices ready; called before every start of the container. */
  prepare?(ids: readonly string[], call: Call): Promise<void>;
}

/** What the node says of a resource: all devices that there are, and those that work. */
export interface DeviceCount {
  readonly capacity: number;
  readonly allocatable: number;
}
