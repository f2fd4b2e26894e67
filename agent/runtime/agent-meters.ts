// What the agent does and how long it takes, under the names that upstream's rules and boards ask for.

import { ClientMeters } from "../../plugins/kit/kube/client/client-meters.ts";
import type { Counter, Histogram } from "../../plugins/kit/base/meters.ts";
import { Meters, usualBuckets } from "../../plugins/kit/base/meters.ts";

// Upstream's: what starts and works may take minutes.
const startBuckets = [0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800];
const operationBuckets = Array.from({ length: 14 }, (_, index) => 0.005 * 2.5 ** index);
const storageBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];
const pullBuckets = [1, 5, 10, 20, 30, 60, 180, 300, 600, 900, 1200, 1800, 2700, 3600];

export class AgentMeters {
  readonly #meters = new Meters();
  readonly runtimeOperations: Counter;
  readonly runtimeErrors: Counter;
  readonly runtimeSeconds: Histogram;
  readonly sandboxSeconds: Histogram;
  readonly sandboxErrors: Counter;
  readonly pullSeconds: Histogram;
  readonly relistSeconds: Histogram;
  readonly relistIntervals: Histogram;
  readonly relistPodErrors: Counter;
  readonly workerSeconds: Histogram;
  readonly podStartSeconds: Histogram;
  readonly podStartSliSeconds: Histogram;
  readonly startedPods: Counter;
  readonly startedPodErrors: Counter;
  readonly startedContainers: Counter;
  readonly startedContainerErrors: Counter;
  readonly evictions: Counter;
  readonly orphanedProcesses: Counter;
  readonly cgroupSeconds: Histogram;
  readonly storageSeconds: Histogram;
  readonly client: ClientMeters;
  readonly httpRequests: Counter;
  readonly httpSeconds: Histogram;

  constructor() {
    const meters = this.#meters;
    const alpha = (text: string) => `[ALPHA] ${text}`;
    this.runtimeOperations = meters.counter(
      "kubelet_runtime_operations_total",
      alpha("Cumulative number of runtime operations by operation type."),
    );
    this.runtimeErrors = meters.counter(
      "kubelet_runtime_operations_errors_total",
      alpha("Cumulative number of runtime operation errors by operation type."),
    );
    this.runtimeSeconds = meters.histogram(
      "kubelet_runtime_operations_duration_seconds",
      alpha("Duration in seconds of runtime operations. Broken down by operation type."),
      operationBuckets,
    );
    this.sandboxSeconds = meters.histogram(
      "kubelet_run_podsandbox_duration_seconds",
      alpha("Duration in seconds of the run_podsandbox operations. Broken down by RuntimeClass.Handler."),
    );
    this.sandboxErrors = meters.counter(
      "kubelet_run_podsandbox_errors_total",
      alpha("Cumulative number of the run_podsandbox operation errors by RuntimeClass.Handler."),
    );
    this.pullSeconds = meters.histogram(
      "kubelet_image_pull_duration_seconds",
      alpha("Duration in seconds to pull an image."),
      pullBuckets,
    );
    this.relistSeconds = meters.histogram(
      "kubelet_pleg_relist_duration_seconds",
      alpha("Duration in seconds for relisting pods in PLEG."),
    );
    this.relistIntervals = meters.histogram(
      "kubelet_pleg_relist_interval_seconds",
      alpha("Interval in seconds between relisting in PLEG."),
      [...usualBuckets, 30, 60, 90],
    );
    this.relistPodErrors = meters.counter(
      "skiff_pleg_pod_status_errors_total",
      "Pods whose status could not be read from the runtime during a relist",
    );
    this.workerSeconds = meters.histogram(
      "kubelet_pod_worker_duration_seconds",
      alpha("Duration in seconds to sync a single pod. Broken down by operation type: sync, terminating, terminated"),
    );
    this.podStartSeconds = meters.histogram(
      "kubelet_pod_start_duration_seconds",
      alpha("Duration in seconds from kubelet seeing a pod for the first time to the pod starting to run"),
      startBuckets,
    );
    this.podStartSliSeconds = meters.histogram(
      "kubelet_pod_start_sli_duration_seconds",
      alpha("Duration in seconds to start a pod, measured from its creation to all of its containers running"),
      startBuckets,
    );
    this.startedPods = meters.counter("kubelet_started_pods_total", alpha("Cumulative number of pods started"));
    this.startedPodErrors = meters.counter(
      "kubelet_started_pods_errors_total",
      alpha("Cumulative number of errors when starting pods"),
    );
    this.startedContainers = meters.counter(
      "kubelet_started_containers_total",
      alpha("Cumulative number of containers started"),
    );
    this.startedContainerErrors = meters.counter(
      "kubelet_started_containers_errors_total",
      alpha("Cumulative number of errors when starting containers"),
    );
    this.evictions = meters.counter(
      "kubelet_evictions",
      alpha("Cumulative number of pod evictions by eviction signal"),
    );
    this.orphanedProcesses = meters.counter(
      "skiff_orphaned_processes_killed_total",
      "Processes killed because they were left in the cgroup of a pod after its containers were gone",
    );
    this.cgroupSeconds = meters.histogram(
      "kubelet_cgroup_manager_duration_seconds",
      alpha("Duration in seconds for cgroup manager operations. Broken down by method."),
    );
    this.storageSeconds = meters.histogram(
      "storage_operation_duration_seconds",
      alpha("Storage operation duration"),
      storageBuckets,
    );
    this.client = new ClientMeters(meters);
    this.httpRequests = meters.counter(
      "kubelet_http_requests_total",
      alpha("Number of the http requests received since the server started"),
    );
    this.httpSeconds = meters.histogram(
      "kubelet_http_requests_duration_seconds",
      alpha("Duration in seconds to serve http requests"),
    );
  }

  text(): string {
    return this.#meters.text();
  }
}
