// The ordered list of admission steps. Order matters: defaults before checks, strangers after our own, quota last.

import type { AnyPlugin } from "../kit/base/plugin.ts";
import { certificateApproval, certificateSigning, certificateSubjectRestriction } from "./certificates.ts";
import { defaultIngressClass, defaultStorageClass } from "./default-classes.ts";
import { defaultTolerationSeconds } from "./default-toleration-seconds.ts";
import { expressionCheck } from "./expression-check.ts";
import { limitRanger } from "./limit-ranger.ts";
import { namespaceLifecycle } from "./namespace-lifecycle.ts";
import { nodeRestriction } from "./node-restriction.ts";
import { persistentVolumeClaimResize } from "./persistent-volume-claim-resize.ts";
import { podSecurity } from "./pod-security.ts";
import { priority } from "./priority.ts";
import { resourceQuota } from "./resource-quota.ts";
import { runtimeClass } from "./runtime-class.ts";
import { serviceAccount } from "./service-account.ts";
import { storageObjectInUseProtection } from "./storage-object-in-use-protection.ts";
import { taintNodesByCondition } from "./taint-nodes-by-condition.ts";
import { validatingAdmissionPolicy } from "./validating-admission-policy.ts";
import { mutatingAdmissionWebhook, validatingAdmissionWebhook } from "./webhooks.ts";

export const admissionPlugins: readonly AnyPlugin[] = [
  namespaceLifecycle,
  limitRanger,
  serviceAccount,
  nodeRestriction,
  taintNodesByCondition,
  podSecurity,
  priority,
  defaultTolerationSeconds,
  defaultStorageClass,
  storageObjectInUseProtection,
  persistentVolumeClaimResize,
  runtimeClass,
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
  defaultIngressClass,
  expressionCheck,
  mutatingAdmissionWebhook,
  validatingAdmissionPolicy,
  validatingAdmissionWebhook,
  resourceQuota,
] as readonly AnyPlugin[];
