// Field numbers of the built-in kinds in Kubernetes' protobuf encoding (v1.32), as published with the API.
// One line a message: `number name flag : type`. A `=` line names the package and the apiVersion it stands for.
//   flag `?`   an explicit zero value means something (a pointer in the API's own types); others are dropped when zero
//   name `.`   the fields of the message stand in the enclosing object
//   types      s text, i whole number, b boolean, d number, y bytes, T time, M time in microseconds, Q quantity, I number or text,
//              R object as JSON, F field set, D duration, E list of texts in a message; `*` repeated, `%` map with text keys

export const fields = `
= admissionregistration/v1 admissionregistration.k8s.io/v1
AuditAnnotation: 1key?:s 2valueExpression?:s
ExpressionWarning: 2fieldRef?:s 3warning?:s
MatchCondition: 1name?:s 2expression?:s
MatchResources: 1namespaceSelector?:meta/v1.LabelSelector 2objectSelector?:meta/v1.LabelSelector 3resourceRules:*NamedRuleWithOperations 4excludeResourceRules:*NamedRuleWithOperations 7matchPolicy?:s
MutatingWebhook: 1name?:s 2clientConfig?:WebhookClientConfig 3rules:*RuleWithOperations 4failurePolicy?:s 5namespaceSelector?:meta/v1.LabelSelector 6sideEffects?:s 7timeoutSeconds?:i 8admissionReviewVersions?:*s 9matchPolicy?:s 10reinvocationPolicy?:s 11objectSelector?:meta/v1.LabelSelector 12matchConditions:*MatchCondition
MutatingWebhookConfiguration: 1metadata:meta/v1.ObjectMeta 2webhooks:*MutatingWebhook
NamedRuleWithOperations: 1resourceNames:*s 2.:RuleWithOperations
ParamKind: 1apiVersion:s 2kind:s
ParamRef: 1name:s 2namespace:s 3selector?:meta/v1.LabelSelector 4parameterNotFoundAction?:s
Rule: 1apiGroups:*s 2apiVersions:*s 3resources:*s 4scope?:s
RuleWithOperations: 1operations:*s 2.:Rule
ServiceReference: 1namespace?:s 2name?:s 3path?:s 4port?:i
TypeChecking: 1expressionWarnings:*ExpressionWarning
ValidatingAdmissionPolicy: 1metadata:meta/v1.ObjectMeta 2spec:ValidatingAdmissionPolicySpec 3status:ValidatingAdmissionPolicyStatus
ValidatingAdmissionPolicyBinding: 1metadata:meta/v1.ObjectMeta 2spec:ValidatingAdmissionPolicyBindingSpec
ValidatingAdmissionPolicyBindingSpec: 1policyName:s 2paramRef?:ParamRef 3matchResources?:MatchResources 4validationActions:*s
ValidatingAdmissionPolicySpec: 1paramKind?:ParamKind 2matchConstraints?:MatchResources 3validations:*Validation 4failurePolicy?:s 5auditAnnotations:*AuditAnnotation 6matchConditions:*MatchCondition 7variables:*Variable
ValidatingAdmissionPolicyStatus: 1observedGeneration:i 2typeChecking?:TypeChecking 3conditions:*meta/v1.Condition
ValidatingWebhook: 1name?:s 2clientConfig?:WebhookClientConfig 3rules:*RuleWithOperations 4failurePolicy?:s 5namespaceSelector?:meta/v1.LabelSelector 6sideEffects?:s 7timeoutSeconds?:i 8admissionReviewVersions?:*s 9matchPolicy?:s 10objectSelector?:meta/v1.LabelSelector 11matchConditions:*MatchCondition
ValidatingWebhookConfiguration: 1metadata:meta/v1.ObjectMeta 2webhooks:*ValidatingWebhook
Validation: 1expression?:s 2message:s 3reason?:s 4messageExpression:s
Variable: 1name?:s 2expression?:s
WebhookClientConfig: 1service?:ServiceReference 2caBundle:y 3url?:s
= apiextensions/v1 apiextensions.k8s.io/v1
CustomResourceColumnDefinition: 1name?:s 2type?:s 3format:s 4description:s 5priority:i 6jsonPath?:s
CustomResourceConversion: 1strategy?:s 2webhook?:WebhookConversion
CustomResourceDefinition: 1metadata:meta/v1.ObjectMeta 2spec?:CustomResourceDefinitionSpec 3status:CustomResourceDefinitionStatus
CustomResourceDefinitionCondition: 1type?:s 2status:s 3lastTransitionTime:T 4reason:s 5message:s
CustomResourceDefinitionNames: 1plural?:s 2singular:s 3shortNames:*s 4kind?:s 5listKind:s 6categories:*s
CustomResourceDefinitionSpec: 1group?:s 3names?:CustomResourceDefinitionNames 4scope?:s 7versions?:*CustomResourceDefinitionVersion 9conversion?:CustomResourceConversion 10preserveUnknownFields:b
CustomResourceDefinitionStatus: 1conditions?:*CustomResourceDefinitionCondition 2acceptedNames?:CustomResourceDefinitionNames 3storedVersions?:*s
CustomResourceDefinitionVersion: 1name?:s 2served?:b 3storage?:b 7deprecated:b 8deprecationWarning?:s 4schema?:CustomResourceValidation 5subresources?:CustomResourceSubresources 6additionalPrinterColumns:*CustomResourceColumnDefinition 9selectableFields:*SelectableField
CustomResourceSubresourceScale: 1specReplicasPath?:s 2statusReplicasPath?:s 3labelSelectorPath?:s
CustomResourceSubresourceStatus:
CustomResourceSubresources: 1status:CustomResourceSubresourceStatus 2scale?:CustomResourceSubresourceScale
CustomResourceValidation: 1openAPIV3Schema?:JSONSchemaProps
ExternalDocumentation: 1description:s 2url:s
JSONSchemaProps: 1id:s 2$schema:s 3$ref?:s 4description:s 5type:s 6format:s 7title:s 8default?:R 9maximum?:d 10exclusiveMaximum:b 11minimum?:d 12exclusiveMinimum:b 13maxLength?:i 14minLength?:i 15pattern:s 16maxItems?:i 17minItems?:i 18uniqueItems:b 19multipleOf?:d 20enum:*R 21maxProperties?:i 22minProperties?:i 23required:*s 24items?:JSONSchemaPropsOrArray 25allOf:*JSONSchemaProps 26oneOf:*JSONSchemaProps 27anyOf:*JSONSchemaProps 28not?:JSONSchemaProps 29properties:%JSONSchemaProps 30additionalProperties?:JSONSchemaPropsOrBool 31patternProperties:%JSONSchemaProps 32dependencies:%JSONSchemaPropsOrStringArray 33additionalItems?:JSONSchemaPropsOrBool 34definitions:%JSONSchemaProps 35externalDocs?:ExternalDocumentation 36example?:R 37nullable:b 38x-kubernetes-preserve-unknown-fields?:b 39x-kubernetes-embedded-resource:b 40x-kubernetes-int-or-string:b 41x-kubernetes-list-map-keys:*s 42x-kubernetes-list-type?:s 43x-kubernetes-map-type?:s 44x-kubernetes-validations:*ValidationRule
JSONSchemaPropsOrArray: 1Schema?:JSONSchemaProps 2JSONSchemas?:*JSONSchemaProps
JSONSchemaPropsOrBool: 1Allows?:b 2Schema?:JSONSchemaProps
JSONSchemaPropsOrStringArray: 1Schema?:JSONSchemaProps 2Property?:*s
SelectableField: 1jsonPath?:s
ServiceReference: 1namespace?:s 2name?:s 3path?:s 4port?:i
ValidationRule: 1rule?:s 2message:s 3messageExpression:s 4reason?:s 5fieldPath:s 6optionalOldSelf?:b
WebhookClientConfig: 3url?:s 1service?:ServiceReference 2caBundle:y
WebhookConversion: 2clientConfig?:WebhookClientConfig 3conversionReviewVersions?:*s
= apiregistration/v1 apiregistration.k8s.io/v1
APIService: 1metadata:meta/v1.ObjectMeta 2spec:APIServiceSpec 3status:APIServiceStatus
APIServiceCondition: 1type?:s 2status:s 3lastTransitionTime:T 4reason:s 5message:s
APIServiceSpec: 1service?:ServiceReference 2group:s 3version:s 4insecureSkipTLSVerify:b 5caBundle:y 7groupPriorityMinimum?:i 8versionPriority?:i
APIServiceStatus: 1conditions:*APIServiceCondition
ServiceReference: 1namespace:s 2name:s 3port?:i
= apps/v1 apps/v1
ControllerRevision: 1metadata:meta/v1.ObjectMeta 2data:R 3revision?:i
DaemonSet: 1metadata:meta/v1.ObjectMeta 2spec:DaemonSetSpec 3status:DaemonSetStatus
DaemonSetCondition: 1type?:s 2status?:s 3lastTransitionTime:T 4reason:s 5message:s
DaemonSetSpec: 1selector?:meta/v1.LabelSelector 2template?:core/v1.PodTemplateSpec 3updateStrategy:DaemonSetUpdateStrategy 4minReadySeconds:i 6revisionHistoryLimit?:i
DaemonSetStatus: 1currentNumberScheduled?:i 2numberMisscheduled?:i 3desiredNumberScheduled?:i 4numberReady?:i 5observedGeneration:i 6updatedNumberScheduled:i 7numberAvailable:i 8numberUnavailable:i 9collisionCount?:i 10conditions:*DaemonSetCondition
DaemonSetUpdateStrategy: 1type:s 2rollingUpdate?:RollingUpdateDaemonSet
Deployment: 1metadata:meta/v1.ObjectMeta 2spec:DeploymentSpec 3status:DeploymentStatus
DeploymentCondition: 1type?:s 2status?:s 4reason:s 5message:s 6lastUpdateTime:T 7lastTransitionTime:T
DeploymentSpec: 1replicas?:i 2selector?:meta/v1.LabelSelector 3template?:core/v1.PodTemplateSpec 4strategy:DeploymentStrategy 5minReadySeconds:i 6revisionHistoryLimit?:i 7paused:b 9progressDeadlineSeconds?:i
DeploymentStatus: 1observedGeneration:i 2replicas:i 3updatedReplicas:i 4availableReplicas:i 5unavailableReplicas:i 6conditions:*DeploymentCondition 7readyReplicas:i 8collisionCount?:i
DeploymentStrategy: 1type:s 2rollingUpdate?:RollingUpdateDeployment
ReplicaSet: 1metadata:meta/v1.ObjectMeta 2spec:ReplicaSetSpec 3status:ReplicaSetStatus
ReplicaSetCondition: 1type?:s 2status?:s 3lastTransitionTime:T 4reason:s 5message:s
ReplicaSetSpec: 1replicas?:i 2selector?:meta/v1.LabelSelector 3template:core/v1.PodTemplateSpec 4minReadySeconds:i
ReplicaSetStatus: 1replicas?:i 2fullyLabeledReplicas:i 3observedGeneration:i 4readyReplicas:i 5availableReplicas:i 6conditions:*ReplicaSetCondition
RollingUpdateDaemonSet: 1maxUnavailable?:I 2maxSurge?:I
RollingUpdateDeployment: 1maxUnavailable?:I 2maxSurge?:I
RollingUpdateStatefulSetStrategy: 1partition?:i 2maxUnavailable?:I
StatefulSet: 1metadata:meta/v1.ObjectMeta 2spec:StatefulSetSpec 3status:StatefulSetStatus
StatefulSetCondition: 1type?:s 2status?:s 3lastTransitionTime:T 4reason:s 5message:s
StatefulSetOrdinals: 1start?:i
StatefulSetPersistentVolumeClaimRetentionPolicy: 1whenDeleted:s 2whenScaled:s
StatefulSetSpec: 1replicas?:i 2selector?:meta/v1.LabelSelector 3template?:core/v1.PodTemplateSpec 4volumeClaimTemplates:*core/v1.PersistentVolumeClaim 5serviceName?:s 6podManagementPolicy:s 7updateStrategy:StatefulSetUpdateStrategy 8revisionHistoryLimit?:i 9minReadySeconds:i 10persistentVolumeClaimRetentionPolicy?:StatefulSetPersistentVolumeClaimRetentionPolicy 11ordinals?:StatefulSetOrdinals
StatefulSetStatus: 1observedGeneration:i 2replicas?:i 3readyReplicas:i 4currentReplicas:i 5updatedReplicas:i 6currentRevision:s 7updateRevision:s 9collisionCount?:i 10conditions:*StatefulSetCondition 11availableReplicas?:i
StatefulSetUpdateStrategy: 1type:s 2rollingUpdate?:RollingUpdateStatefulSetStrategy
= authentication/v1 authentication.k8s.io/v1
BoundObjectReference: 1kind:s 2apiVersion:s 3name:s 4uid:s
SelfSubjectReview: 1metadata:meta/v1.ObjectMeta 2status:SelfSubjectReviewStatus
SelfSubjectReviewStatus: 1userInfo:UserInfo
TokenRequest: 1metadata:meta/v1.ObjectMeta 2spec?:TokenRequestSpec 3status:TokenRequestStatus
TokenRequestSpec: 1audiences?:*s 3boundObjectRef?:BoundObjectReference 4expirationSeconds?:i
TokenRequestStatus: 1token?:s 2expirationTimestamp?:T
TokenReview: 1metadata:meta/v1.ObjectMeta 2spec?:TokenReviewSpec 3status:TokenReviewStatus
TokenReviewSpec: 1token:s 2audiences:*s
TokenReviewStatus: 1authenticated:b 2user:UserInfo 3error:s 4audiences:*s
UserInfo: 1username:s 2uid:s 3groups:*s 4extra:%E
= authorization/v1 authorization.k8s.io/v1
FieldSelectorAttributes: 1rawSelector:s 2requirements:*meta/v1.FieldSelectorRequirement
LabelSelectorAttributes: 1rawSelector:s 2requirements:*meta/v1.LabelSelectorRequirement
LocalSubjectAccessReview: 1metadata:meta/v1.ObjectMeta 2spec?:SubjectAccessReviewSpec 3status:SubjectAccessReviewStatus
NonResourceAttributes: 1path:s 2verb:s
NonResourceRule: 1verbs?:*s 2nonResourceURLs:*s
ResourceAttributes: 1namespace:s 2verb:s 3group:s 4version:s 5resource:s 6subresource:s 7name:s 8fieldSelector?:FieldSelectorAttributes 9labelSelector?:LabelSelectorAttributes
ResourceRule: 1verbs?:*s 2apiGroups:*s 3resources:*s 4resourceNames:*s
SelfSubjectAccessReview: 1metadata:meta/v1.ObjectMeta 2spec?:SelfSubjectAccessReviewSpec 3status:SubjectAccessReviewStatus
SelfSubjectAccessReviewSpec: 1resourceAttributes?:ResourceAttributes 2nonResourceAttributes?:NonResourceAttributes
SelfSubjectRulesReview: 1metadata:meta/v1.ObjectMeta 2spec?:SelfSubjectRulesReviewSpec 3status:SubjectRulesReviewStatus
SelfSubjectRulesReviewSpec: 1namespace:s
SubjectAccessReview: 1metadata:meta/v1.ObjectMeta 2spec?:SubjectAccessReviewSpec 3status:SubjectAccessReviewStatus
SubjectAccessReviewSpec: 1resourceAttributes?:ResourceAttributes 2nonResourceAttributes?:NonResourceAttributes 3user:s 4groups:*s 5extra:%E 6uid:s
SubjectAccessReviewStatus: 1allowed?:b 2reason:s 3evaluationError:s 4denied:b
SubjectRulesReviewStatus: 1resourceRules?:*ResourceRule 2nonResourceRules?:*NonResourceRule 3incomplete?:b 4evaluationError:s
= autoscaling/v1 autoscaling/v1
CrossVersionObjectReference: 1kind?:s 2name?:s 3apiVersion:s
HorizontalPodAutoscaler: 1metadata:meta/v1.ObjectMeta 2spec:HorizontalPodAutoscalerSpec 3status:HorizontalPodAutoscalerStatus
HorizontalPodAutoscalerSpec: 1scaleTargetRef?:CrossVersionObjectReference 2minReplicas?:i 3maxReplicas?:i 4targetCPUUtilizationPercentage?:i
HorizontalPodAutoscalerStatus: 1observedGeneration?:i 2lastScaleTime?:T 3currentReplicas?:i 4desiredReplicas?:i 5currentCPUUtilizationPercentage?:i
Scale: 1metadata:meta/v1.ObjectMeta 2spec:ScaleSpec 3status:ScaleStatus
ScaleSpec: 1replicas:i
ScaleStatus: 1replicas?:i 2selector:s
= autoscaling/v2 autoscaling/v2
ContainerResourceMetricSource: 1name?:s 2target?:MetricTarget 3container?:s
ContainerResourceMetricStatus: 1name?:s 2current?:MetricValueStatus 3container?:s
CrossVersionObjectReference: 1kind?:s 2name?:s 3apiVersion:s
ExternalMetricSource: 1metric?:MetricIdentifier 2target?:MetricTarget
ExternalMetricStatus: 1metric?:MetricIdentifier 2current?:MetricValueStatus
HPAScalingPolicy: 1type?:s 2value?:i 3periodSeconds?:i
HPAScalingRules: 1selectPolicy?:s 2policies:*HPAScalingPolicy 3stabilizationWindowSeconds?:i
HorizontalPodAutoscaler: 1metadata:meta/v1.ObjectMeta 2spec:HorizontalPodAutoscalerSpec 3status:HorizontalPodAutoscalerStatus
HorizontalPodAutoscalerBehavior: 1scaleUp?:HPAScalingRules 2scaleDown?:HPAScalingRules
HorizontalPodAutoscalerCondition: 1type?:s 2status?:s 3lastTransitionTime:T 4reason:s 5message:s
HorizontalPodAutoscalerSpec: 1scaleTargetRef?:CrossVersionObjectReference 2minReplicas?:i 3maxReplicas?:i 4metrics:*MetricSpec 5behavior?:HorizontalPodAutoscalerBehavior
HorizontalPodAutoscalerStatus: 1observedGeneration?:i 2lastScaleTime?:T 3currentReplicas:i 4desiredReplicas?:i 5currentMetrics?:*MetricStatus 6conditions:*HorizontalPodAutoscalerCondition
MetricIdentifier: 1name?:s 2selector?:meta/v1.LabelSelector
MetricSpec: 1type?:s 2object?:ObjectMetricSource 3pods?:PodsMetricSource 4resource?:ResourceMetricSource 5external?:ExternalMetricSource 7containerResource?:ContainerResourceMetricSource
MetricStatus: 1type?:s 2object?:ObjectMetricStatus 3pods?:PodsMetricStatus 4resource?:ResourceMetricStatus 5external?:ExternalMetricStatus 7containerResource?:ContainerResourceMetricStatus
MetricTarget: 1type?:s 2value?:Q 3averageValue?:Q 4averageUtilization?:i
MetricValueStatus: 1value?:Q 2averageValue?:Q 3averageUtilization?:i
ObjectMetricSource: 1describedObject?:CrossVersionObjectReference 2target?:MetricTarget 3metric?:MetricIdentifier
ObjectMetricStatus: 1metric?:MetricIdentifier 2current?:MetricValueStatus 3describedObject?:CrossVersionObjectReference
PodsMetricSource: 1metric?:MetricIdentifier 2target?:MetricTarget
PodsMetricStatus: 1metric?:MetricIdentifier 2current?:MetricValueStatus
ResourceMetricSource: 1name?:s 2target?:MetricTarget
ResourceMetricStatus: 1name?:s 2current?:MetricValueStatus
= batch/v1 batch/v1
CronJob: 1metadata:meta/v1.ObjectMeta 2spec:CronJobSpec 3status:CronJobStatus
CronJobSpec: 1schedule?:s 2startingDeadlineSeconds?:i 3concurrencyPolicy:s 4suspend?:b 5jobTemplate?:JobTemplateSpec 6successfulJobsHistoryLimit?:i 7failedJobsHistoryLimit?:i 8timeZone?:s
CronJobStatus: 1active:*core/v1.ObjectReference 4lastScheduleTime?:T 5lastSuccessfulTime?:T
Job: 1metadata:meta/v1.ObjectMeta 2spec:JobSpec 3status:JobStatus
JobCondition: 1type?:s 2status?:s 3lastProbeTime:T 4lastTransitionTime:T 5reason:s 6message:s
JobSpec: 1parallelism?:i 2completions?:i 3activeDeadlineSeconds?:i 4selector?:meta/v1.LabelSelector 5manualSelector?:b 6template?:core/v1.PodTemplateSpec 7backoffLimit?:i 8ttlSecondsAfterFinished?:i 9completionMode?:s 10suspend?:b 11podFailurePolicy?:PodFailurePolicy 12backoffLimitPerIndex?:i 13maxFailedIndexes?:i 14podReplacementPolicy?:s 15managedBy?:s 16successPolicy?:SuccessPolicy
JobStatus: 1conditions:*JobCondition 2startTime?:T 3completionTime?:T 4active:i 5succeeded:i 6failed:i 7completedIndexes:s 8uncountedTerminatedPods?:UncountedTerminatedPods 9ready?:i 10failedIndexes?:s 11terminating?:i
JobTemplateSpec: 1metadata:meta/v1.ObjectMeta 2spec:JobSpec
PodFailurePolicy: 1rules?:*PodFailurePolicyRule
PodFailurePolicyOnExitCodesRequirement: 1containerName?:s 2operator?:s 3values?:*i
PodFailurePolicyOnPodConditionsPattern: 1type?:s 2status?:s
PodFailurePolicyRule: 1action?:s 2onExitCodes?:PodFailurePolicyOnExitCodesRequirement 3onPodConditions:*PodFailurePolicyOnPodConditionsPattern
SuccessPolicy: 1rules?:*SuccessPolicyRule
SuccessPolicyRule: 1succeededIndexes?:s 2succeededCount?:i
UncountedTerminatedPods: 1succeeded:*s 2failed:*s
= certificates/v1 certificates.k8s.io/v1
CertificateSigningRequest: 1metadata:meta/v1.ObjectMeta 2spec?:CertificateSigningRequestSpec 3status:CertificateSigningRequestStatus
CertificateSigningRequestCondition: 1type?:s 2reason:s 3message:s 4lastUpdateTime:T 5lastTransitionTime:T 6status?:s
CertificateSigningRequestSpec: 1request?:y 2username:s 3uid:s 4groups:*s 5usages:*s 6extra:%E 7signerName?:s 8expirationSeconds?:i
CertificateSigningRequestStatus: 1conditions:*CertificateSigningRequestCondition 2certificate:y
= coordination/v1 coordination.k8s.io/v1
Lease: 1metadata:meta/v1.ObjectMeta 2spec:LeaseSpec
LeaseSpec: 1holderIdentity?:s 2leaseDurationSeconds?:i 3acquireTime?:M 4renewTime?:M 5leaseTransitions?:i 6strategy?:s 7preferredHolder?:s
= core/v1 v1
AWSElasticBlockStoreVolumeSource: 1volumeID?:s 2fsType:s 3partition:i 4readOnly:b
Affinity: 1nodeAffinity?:NodeAffinity 2podAffinity?:PodAffinity 3podAntiAffinity?:PodAntiAffinity
AppArmorProfile: 1type?:s 2localhostProfile?:s
AttachedVolume: 1name?:s 2devicePath?:s
AzureDiskVolumeSource: 1diskName?:s 2diskURI?:s 3cachingMode?:s 4fsType?:s 5readOnly?:b 6kind?:s
AzureFilePersistentVolumeSource: 1secretName?:s 2shareName?:s 3readOnly:b 4secretNamespace?:s
AzureFileVolumeSource: 1secretName?:s 2shareName?:s 3readOnly:b
Binding: 1metadata:meta/v1.ObjectMeta 2target?:ObjectReference
CSIPersistentVolumeSource: 1driver?:s 2volumeHandle?:s 3readOnly:b 4fsType:s 5volumeAttributes:%s 6controllerPublishSecretRef?:SecretReference 7nodeStageSecretRef?:SecretReference 8nodePublishSecretRef?:SecretReference 9controllerExpandSecretRef?:SecretReference 10nodeExpandSecretRef?:SecretReference
CSIVolumeSource: 1driver?:s 2readOnly?:b 3fsType?:s 4volumeAttributes:%s 5nodePublishSecretRef?:LocalObjectReference
Capabilities: 1add:*s 2drop:*s
CephFSPersistentVolumeSource: 1monitors?:*s 2path:s 3user:s 4secretFile:s 5secretRef?:SecretReference 6readOnly:b
CephFSVolumeSource: 1monitors?:*s 2path:s 3user:s 4secretFile:s 5secretRef?:LocalObjectReference 6readOnly:b
CinderPersistentVolumeSource: 1volumeID?:s 2fsType:s 3readOnly:b 4secretRef?:SecretReference
CinderVolumeSource: 1volumeID?:s 2fsType:s 3readOnly:b 4secretRef?:LocalObjectReference
ClientIPConfig: 1timeoutSeconds?:i
ClusterTrustBundleProjection: 1name?:s 2signerName?:s 3labelSelector?:meta/v1.LabelSelector 4path?:s 5optional?:b
ComponentCondition: 1type?:s 2status?:s 3message:s 4error:s
ComponentStatus: 1metadata:meta/v1.ObjectMeta 2conditions:*ComponentCondition
ConfigMap: 1metadata:meta/v1.ObjectMeta 2data:%s 3binaryData:%y 4immutable?:b
ConfigMapEnvSource: 1.:LocalObjectReference 2optional?:b
ConfigMapKeySelector: 1.:LocalObjectReference 2key?:s 3optional?:b
ConfigMapNodeConfigSource: 1namespace?:s 2name?:s 3uid:s 4resourceVersion:s 5kubeletConfigKey?:s
ConfigMapProjection: 1.:LocalObjectReference 2items:*KeyToPath 4optional?:b
ConfigMapVolumeSource: 1.:LocalObjectReference 2items:*KeyToPath 3defaultMode?:i 4optional?:b
Container: 1name?:s 2image:s 3command:*s 4args:*s 5workingDir:s 6ports:*ContainerPort 7env:*EnvVar 8resources:ResourceRequirements 9volumeMounts:*VolumeMount 10livenessProbe?:Probe 11readinessProbe?:Probe 12lifecycle?:Lifecycle 13terminationMessagePath:s 14imagePullPolicy:s 15securityContext?:SecurityContext 16stdin:b 17stdinOnce:b 18tty:b 19envFrom:*EnvFromSource 20terminationMessagePolicy:s 21volumeDevices:*VolumeDevice 22startupProbe?:Probe 23resizePolicy:*ContainerResizePolicy 24restartPolicy?:s
ContainerImage: 1names?:*s 2sizeBytes:i
ContainerPort: 1name:s 2hostPort:i 3containerPort?:i 4protocol:s 5hostIP:s
ContainerResizePolicy: 1resourceName?:s 2restartPolicy?:s
ContainerState: 1waiting?:ContainerStateWaiting 2running?:ContainerStateRunning 3terminated?:ContainerStateTerminated
ContainerStateRunning: 1startedAt:T
ContainerStateTerminated: 1exitCode?:i 2signal:i 3reason:s 4message:s 5startedAt:T 6finishedAt:T 7containerID:s
ContainerStateWaiting: 1reason:s 2message:s
ContainerStatus: 1name?:s 2state:ContainerState 3lastState:ContainerState 4ready?:b 5restartCount?:i 6image?:s 7imageID?:s 8containerID:s 9started?:b 10allocatedResources:%Q 11resources?:ResourceRequirements 12volumeMounts:*VolumeMountStatus 13user?:ContainerUser 14allocatedResourcesStatus:*ResourceStatus
ContainerUser: 1linux?:LinuxContainerUser
DaemonEndpoint: 1Port?:i
DownwardAPIProjection: 1items:*DownwardAPIVolumeFile
DownwardAPIVolumeFile: 1path?:s 2fieldRef?:ObjectFieldSelector 3resourceFieldRef?:ResourceFieldSelector 4mode?:i
DownwardAPIVolumeSource: 1items:*DownwardAPIVolumeFile 2defaultMode?:i
EmptyDirVolumeSource: 1medium:s 2sizeLimit?:Q
EndpointAddress: 1ip?:s 2targetRef?:ObjectReference 3hostname:s 4nodeName?:s
EndpointPort: 1name:s 2port?:i 3protocol:s 4appProtocol?:s
EndpointSubset: 1addresses:*EndpointAddress 2notReadyAddresses:*EndpointAddress 3ports:*EndpointPort
Endpoints: 1metadata:meta/v1.ObjectMeta 2subsets:*EndpointSubset
EnvFromSource: 1prefix:s 2configMapRef?:ConfigMapEnvSource 3secretRef?:SecretEnvSource
EnvVar: 1name?:s 2value:s 3valueFrom?:EnvVarSource
EnvVarSource: 1fieldRef?:ObjectFieldSelector 2resourceFieldRef?:ResourceFieldSelector 3configMapKeyRef?:ConfigMapKeySelector 4secretKeyRef?:SecretKeySelector
EphemeralContainer: 1.:EphemeralContainerCommon 2targetContainerName:s
EphemeralContainerCommon: 1name?:s 2image:s 3command:*s 4args:*s 5workingDir:s 6ports:*ContainerPort 7env:*EnvVar 8resources:ResourceRequirements 9volumeMounts:*VolumeMount 10livenessProbe?:Probe 11readinessProbe?:Probe 12lifecycle?:Lifecycle 13terminationMessagePath:s 14imagePullPolicy:s 15securityContext?:SecurityContext 16stdin:b 17stdinOnce:b 18tty:b 19envFrom:*EnvFromSource 20terminationMessagePolicy:s 21volumeDevices:*VolumeDevice 22startupProbe?:Probe 23resizePolicy:*ContainerResizePolicy 24restartPolicy?:s
EphemeralVolumeSource: 1volumeClaimTemplate?:PersistentVolumeClaimTemplate
Event: 1metadata?:meta/v1.ObjectMeta 2involvedObject?:ObjectReference 3reason:s 4message:s 5source:EventSource 6firstTimestamp:T 7lastTimestamp:T 8count:i 9type:s 10eventTime:M 11series?:EventSeries 12action:s 13related?:ObjectReference 14reportingComponent?:s 15reportingInstance?:s
EventSeries: 1count:i 2lastObservedTime:M
EventSource: 1component:s 2host:s
ExecAction: 1command:*s
FCVolumeSource: 1targetWWNs:*s 2lun?:i 3fsType:s 4readOnly:b 5wwids:*s
FlexPersistentVolumeSource: 1driver?:s 2fsType:s 3secretRef?:SecretReference 4readOnly:b 5options:%s
FlexVolumeSource: 1driver?:s 2fsType:s 3secretRef?:LocalObjectReference 4readOnly:b 5options:%s
FlockerVolumeSource: 1datasetName:s 2datasetUUID:s
GCEPersistentDiskVolumeSource: 1pdName?:s 2fsType:s 3partition:i 4readOnly:b
GRPCAction: 1port?:i 2service?:s
GitRepoVolumeSource: 1repository?:s 2revision:s 3directory:s
GlusterfsPersistentVolumeSource: 1endpoints?:s 2path?:s 3readOnly:b 4endpointsNamespace?:s
GlusterfsVolumeSource: 1endpoints?:s 2path?:s 3readOnly:b
HTTPGetAction: 1path:s 2port?:I 3host:s 4scheme:s 5httpHeaders:*HTTPHeader
HTTPHeader: 1name?:s 2value?:s
HostAlias: 1ip?:s 2hostnames:*s
HostIP: 1ip?:s
HostPathVolumeSource: 1path?:s 2type?:s
ISCSIPersistentVolumeSource: 1targetPortal?:s 2iqn?:s 3lun?:i 4iscsiInterface:s 5fsType:s 6readOnly:b 7portals:*s 8chapAuthDiscovery:b 10secretRef?:SecretReference 11chapAuthSession:b 12initiatorName?:s
ISCSIVolumeSource: 1targetPortal?:s 2iqn?:s 3lun?:i 4iscsiInterface:s 5fsType:s 6readOnly:b 7portals:*s 8chapAuthDiscovery:b 10secretRef?:LocalObjectReference 11chapAuthSession:b 12initiatorName?:s
ImageVolumeSource: 1reference:s 2pullPolicy:s
KeyToPath: 1key?:s 2path?:s 3mode?:i
Lifecycle: 1postStart?:LifecycleHandler 2preStop?:LifecycleHandler
LifecycleHandler: 1exec?:ExecAction 2httpGet?:HTTPGetAction 3tcpSocket?:TCPSocketAction 4sleep?:SleepAction
LimitRange: 1metadata:meta/v1.ObjectMeta 2spec:LimitRangeSpec
LimitRangeItem: 1type?:s 2max:%Q 3min:%Q 4default:%Q 5defaultRequest:%Q 6maxLimitRequestRatio:%Q
LimitRangeSpec: 1limits?:*LimitRangeItem
LinuxContainerUser: 1uid?:i 2gid?:i 3supplementalGroups:*i
LoadBalancerIngress: 1ip:s 2hostname:s 3ipMode?:s 4ports:*PortStatus
LoadBalancerStatus: 1ingress:*LoadBalancerIngress
LocalObjectReference: 1name:s
LocalVolumeSource: 1path?:s 2fsType?:s
ModifyVolumeStatus: 1targetVolumeAttributesClassName:s 2status?:s
NFSVolumeSource: 1server?:s 2path?:s 3readOnly:b
Namespace: 1metadata:meta/v1.ObjectMeta 2spec:NamespaceSpec 3status:NamespaceStatus
NamespaceCondition: 1type?:s 2status?:s 4lastTransitionTime:T 5reason:s 6message:s
NamespaceSpec: 1finalizers:*s
NamespaceStatus: 1phase:s 2conditions:*NamespaceCondition
Node: 1metadata:meta/v1.ObjectMeta 2spec:NodeSpec 3status:NodeStatus
NodeAddress: 1type?:s 2address?:s
NodeAffinity: 1requiredDuringSchedulingIgnoredDuringExecution?:NodeSelector 2preferredDuringSchedulingIgnoredDuringExecution:*PreferredSchedulingTerm
NodeCondition: 1type?:s 2status?:s 3lastHeartbeatTime:T 4lastTransitionTime:T 5reason:s 6message:s
NodeConfigSource: 2configMap?:ConfigMapNodeConfigSource
NodeConfigStatus: 1assigned?:NodeConfigSource 2active?:NodeConfigSource 3lastKnownGood?:NodeConfigSource 4error:s
NodeDaemonEndpoints: 1kubeletEndpoint:DaemonEndpoint
NodeFeatures: 1supplementalGroupsPolicy?:b
NodeProxyOptions: 1path:s
NodeRuntimeHandler: 1name?:s 2features?:NodeRuntimeHandlerFeatures
NodeRuntimeHandlerFeatures: 1recursiveReadOnlyMounts?:b 2userNamespaces?:b
NodeSelector: 1nodeSelectorTerms?:*NodeSelectorTerm
NodeSelectorRequirement: 1key?:s 2operator?:s 3values:*s
NodeSelectorTerm: 1matchExpressions:*NodeSelectorRequirement 2matchFields:*NodeSelectorRequirement
NodeSpec: 1podCIDR:s 2externalID:s 3providerID:s 4unschedulable:b 5taints:*Taint 6configSource?:NodeConfigSource 7podCIDRs:*s
NodeStatus: 1capacity:%Q 2allocatable:%Q 3phase:s 4conditions:*NodeCondition 5addresses:*NodeAddress 6daemonEndpoints:NodeDaemonEndpoints 7nodeInfo:NodeSystemInfo 8images:*ContainerImage 9volumesInUse:*s 10volumesAttached:*AttachedVolume 11config?:NodeConfigStatus 12runtimeHandlers:*NodeRuntimeHandler 13features?:NodeFeatures
NodeSystemInfo: 1machineID?:s 2systemUUID?:s 3bootID?:s 4kernelVersion?:s 5osImage?:s 6containerRuntimeVersion?:s 7kubeletVersion?:s 8kubeProxyVersion?:s 9operatingSystem?:s 10architecture?:s
ObjectFieldSelector: 1apiVersion:s 2fieldPath?:s
ObjectReference: 1kind:s 2namespace:s 3name:s 4uid:s 5apiVersion:s 6resourceVersion:s 7fieldPath:s
PersistentVolume: 1metadata:meta/v1.ObjectMeta 2spec:PersistentVolumeSpec 3status:PersistentVolumeStatus
PersistentVolumeClaim: 1metadata:meta/v1.ObjectMeta 2spec:PersistentVolumeClaimSpec 3status:PersistentVolumeClaimStatus
PersistentVolumeClaimCondition: 1type?:s 2status?:s 3lastProbeTime:T 4lastTransitionTime:T 5reason:s 6message:s
PersistentVolumeClaimSpec: 1accessModes:*s 2resources:VolumeResourceRequirements 3volumeName:s 4selector?:meta/v1.LabelSelector 5storageClassName?:s 6volumeMode?:s 7dataSource?:TypedLocalObjectReference 8dataSourceRef?:TypedObjectReference 9volumeAttributesClassName?:s
PersistentVolumeClaimStatus: 1phase:s 2accessModes:*s 3capacity:%Q 4conditions:*PersistentVolumeClaimCondition 5allocatedResources:%Q 7allocatedResourceStatuses:%s 8currentVolumeAttributesClassName?:s 9modifyVolumeStatus?:ModifyVolumeStatus
PersistentVolumeClaimTemplate: 1metadata:meta/v1.ObjectMeta 2spec?:PersistentVolumeClaimSpec
PersistentVolumeClaimVolumeSource: 1claimName?:s 2readOnly:b
PersistentVolumeSource: 1gcePersistentDisk?:GCEPersistentDiskVolumeSource 2awsElasticBlockStore?:AWSElasticBlockStoreVolumeSource 3hostPath?:HostPathVolumeSource 4glusterfs?:GlusterfsPersistentVolumeSource 5nfs?:NFSVolumeSource 6rbd?:RBDPersistentVolumeSource 7iscsi?:ISCSIPersistentVolumeSource 8cinder?:CinderPersistentVolumeSource 9cephfs?:CephFSPersistentVolumeSource 10fc?:FCVolumeSource 11flocker?:FlockerVolumeSource 12flexVolume?:FlexPersistentVolumeSource 13azureFile?:AzureFilePersistentVolumeSource 14vsphereVolume?:VsphereVirtualDiskVolumeSource 15quobyte?:QuobyteVolumeSource 16azureDisk?:AzureDiskVolumeSource 17photonPersistentDisk?:PhotonPersistentDiskVolumeSource 18portworxVolume?:PortworxVolumeSource 19scaleIO?:ScaleIOPersistentVolumeSource 20local?:LocalVolumeSource 21storageos?:StorageOSPersistentVolumeSource 22csi?:CSIPersistentVolumeSource
PersistentVolumeSpec: 1capacity:%Q 2.:PersistentVolumeSource 3accessModes:*s 4claimRef?:ObjectReference 5persistentVolumeReclaimPolicy:s 6storageClassName:s 7mountOptions:*s 8volumeMode?:s 9nodeAffinity?:VolumeNodeAffinity 10volumeAttributesClassName?:s
PersistentVolumeStatus: 1phase:s 2message:s 3reason:s 4lastPhaseTransitionTime?:T
PhotonPersistentDiskVolumeSource: 1pdID?:s 2fsType:s
Pod: 1metadata:meta/v1.ObjectMeta 2spec:PodSpec 3status:PodStatus
PodAffinity: 1requiredDuringSchedulingIgnoredDuringExecution:*PodAffinityTerm 2preferredDuringSchedulingIgnoredDuringExecution:*WeightedPodAffinityTerm
PodAffinityTerm: 1labelSelector?:meta/v1.LabelSelector 2namespaces:*s 3topologyKey?:s 4namespaceSelector?:meta/v1.LabelSelector 5matchLabelKeys:*s 6mismatchLabelKeys:*s
PodAntiAffinity: 1requiredDuringSchedulingIgnoredDuringExecution:*PodAffinityTerm 2preferredDuringSchedulingIgnoredDuringExecution:*WeightedPodAffinityTerm
PodAttachOptions: 1stdin:b 2stdout:b 3stderr:b 4tty:b 5container:s
PodCondition: 1type?:s 2status?:s 3lastProbeTime:T 4lastTransitionTime:T 5reason:s 6message:s
PodDNSConfig: 1nameservers:*s 2searches:*s 3options:*PodDNSConfigOption
PodDNSConfigOption: 1name:s 2value?:s
PodExecOptions: 1stdin:b 2stdout:b 3stderr:b 4tty:b 5container:s 6command?:*s
PodIP: 1ip?:s
PodLogOptions: 1container:s 2follow:b 3previous:b 4sinceSeconds?:i 5sinceTime?:T 6timestamps:b 7tailLines?:i 8limitBytes?:i 9insecureSkipTLSVerifyBackend:b 10stream?:s
PodOS: 1name?:s
PodPortForwardOptions: 1ports:*i
PodProxyOptions: 1path:s
PodReadinessGate: 1conditionType?:s
PodResourceClaim: 1name?:s 3resourceClaimName?:s 4resourceClaimTemplateName?:s
PodResourceClaimStatus: 1name?:s 2resourceClaimName?:s
PodSchedulingGate: 1name?:s
PodSecurityContext: 1seLinuxOptions?:SELinuxOptions 2runAsUser?:i 3runAsNonRoot?:b 4supplementalGroups:*i 5fsGroup?:i 6runAsGroup?:i 7sysctls:*Sysctl 8windowsOptions?:WindowsSecurityContextOptions 9fsGroupChangePolicy?:s 10seccompProfile?:SeccompProfile 11appArmorProfile?:AppArmorProfile 12supplementalGroupsPolicy?:s 13seLinuxChangePolicy?:s
PodSpec: 1volumes:*Volume 2containers?:*Container 3restartPolicy:s 4terminationGracePeriodSeconds?:i 5activeDeadlineSeconds?:i 6dnsPolicy:s 7nodeSelector:%s 8serviceAccountName:s 9serviceAccount:s 10nodeName:s 11hostNetwork:b 12hostPID:b 13hostIPC:b 14securityContext?:PodSecurityContext 15imagePullSecrets:*LocalObjectReference 16hostname:s 17subdomain:s 18affinity?:Affinity 19schedulerName:s 20initContainers:*Container 21automountServiceAccountToken?:b 22tolerations:*Toleration 23hostAliases:*HostAlias 24priorityClassName:s 25priority?:i 26dnsConfig?:PodDNSConfig 27shareProcessNamespace?:b 28readinessGates:*PodReadinessGate 29runtimeClassName?:s 30enableServiceLinks?:b 31preemptionPolicy?:s 32overhead:%Q 33topologySpreadConstraints:*TopologySpreadConstraint 34ephemeralContainers:*EphemeralContainer 35setHostnameAsFQDN?:b 36os?:PodOS 37hostUsers?:b 38schedulingGates:*PodSchedulingGate 39resourceClaims:*PodResourceClaim 40resources?:ResourceRequirements
PodStatus: 1phase:s 2conditions:*PodCondition 3message:s 4reason:s 5hostIP:s 6podIP:s 7startTime?:T 8containerStatuses:*ContainerStatus 9qosClass:s 10initContainerStatuses:*ContainerStatus 11nominatedNodeName:s 12podIPs:*PodIP 13ephemeralContainerStatuses:*ContainerStatus 14resize:s 15resourceClaimStatuses:*PodResourceClaimStatus 16hostIPs:*HostIP
PodStatusResult: 1metadata:meta/v1.ObjectMeta 2status:PodStatus
PodTemplate: 1metadata:meta/v1.ObjectMeta 2template:PodTemplateSpec
PodTemplateSpec: 1metadata:meta/v1.ObjectMeta 2spec:PodSpec
PortStatus: 1port?:i 2protocol?:s 3error?:s
PortworxVolumeSource: 1volumeID?:s 2fsType:s 3readOnly:b
PreferredSchedulingTerm: 1weight?:i 2preference?:NodeSelectorTerm
Probe: 1.:ProbeHandler 2initialDelaySeconds:i 3timeoutSeconds:i 4periodSeconds:i 5successThreshold:i 6failureThreshold:i 7terminationGracePeriodSeconds?:i
ProbeHandler: 1exec?:ExecAction 2httpGet?:HTTPGetAction 3tcpSocket?:TCPSocketAction 4grpc?:GRPCAction
ProjectedVolumeSource: 1sources?:*VolumeProjection 2defaultMode?:i
QuobyteVolumeSource: 1registry?:s 2volume?:s 3readOnly:b 4user:s 5group:s 6tenant:s
RBDPersistentVolumeSource: 1monitors?:*s 2image?:s 3fsType:s 4pool:s 5user:s 6keyring:s 7secretRef?:SecretReference 8readOnly:b
RBDVolumeSource: 1monitors?:*s 2image?:s 3fsType:s 4pool:s 5user:s 6keyring:s 7secretRef?:LocalObjectReference 8readOnly:b
RangeAllocation: 1metadata:meta/v1.ObjectMeta 2range?:s 3data?:y
ReplicationController: 1metadata:meta/v1.ObjectMeta 2spec:ReplicationControllerSpec 3status:ReplicationControllerStatus
ReplicationControllerCondition: 1type?:s 2status?:s 3lastTransitionTime:T 4reason:s 5message:s
ReplicationControllerSpec: 1replicas?:i 2selector:%s 3template?:PodTemplateSpec 4minReadySeconds:i
ReplicationControllerStatus: 1replicas?:i 2fullyLabeledReplicas:i 3observedGeneration:i 4readyReplicas:i 5availableReplicas:i 6conditions:*ReplicationControllerCondition
ResourceClaim: 1name?:s 2request:s
ResourceFieldSelector: 1containerName:s 2resource?:s 3divisor:Q
ResourceHealth: 1resourceID?:s 2health:s
ResourceQuota: 1metadata:meta/v1.ObjectMeta 2spec:ResourceQuotaSpec 3status:ResourceQuotaStatus
ResourceQuotaSpec: 1hard:%Q 2scopes:*s 3scopeSelector?:ScopeSelector
ResourceQuotaStatus: 1hard:%Q 2used:%Q
ResourceRequirements: 1limits:%Q 2requests:%Q 3claims:*ResourceClaim
ResourceStatus: 1name?:s 2resources:*ResourceHealth
SELinuxOptions: 1user:s 2role:s 3type:s 4level:s
ScaleIOPersistentVolumeSource: 1gateway?:s 2system?:s 3secretRef?:SecretReference 4sslEnabled:b 5protectionDomain:s 6storagePool:s 7storageMode:s 8volumeName:s 9fsType:s 10readOnly:b
ScaleIOVolumeSource: 1gateway?:s 2system?:s 3secretRef?:LocalObjectReference 4sslEnabled:b 5protectionDomain:s 6storagePool:s 7storageMode:s 8volumeName:s 9fsType:s 10readOnly:b
ScopeSelector: 1matchExpressions:*ScopedResourceSelectorRequirement
ScopedResourceSelectorRequirement: 1scopeName?:s 2operator?:s 3values:*s
SeccompProfile: 1type?:s 2localhostProfile?:s
Secret: 1metadata:meta/v1.ObjectMeta 2data:%y 3type:s 4stringData:%s 5immutable?:b
SecretEnvSource: 1.:LocalObjectReference 2optional?:b
SecretKeySelector: 1.:LocalObjectReference 2key?:s 3optional?:b
SecretProjection: 1.:LocalObjectReference 2items:*KeyToPath 4optional?:b
SecretReference: 1name:s 2namespace:s
SecretVolumeSource: 1secretName:s 2items:*KeyToPath 3defaultMode?:i 4optional?:b
SecurityContext: 1capabilities?:Capabilities 2privileged?:b 3seLinuxOptions?:SELinuxOptions 4runAsUser?:i 5runAsNonRoot?:b 6readOnlyRootFilesystem?:b 7allowPrivilegeEscalation?:b 8runAsGroup?:i 9procMount?:s 10windowsOptions?:WindowsSecurityContextOptions 11seccompProfile?:SeccompProfile 12appArmorProfile?:AppArmorProfile
SerializedReference: 1reference:ObjectReference
Service: 1metadata:meta/v1.ObjectMeta 2spec:ServiceSpec 3status:ServiceStatus
ServiceAccount: 1metadata:meta/v1.ObjectMeta 2secrets:*ObjectReference 3imagePullSecrets:*LocalObjectReference 4automountServiceAccountToken?:b
ServiceAccountTokenProjection: 1audience:s 2expirationSeconds?:i 3path?:s
ServicePort: 1name:s 2protocol:s 3port?:i 4targetPort:I 5nodePort:i 6appProtocol?:s
ServiceProxyOptions: 1path:s
ServiceSpec: 1ports:*ServicePort 2selector:%s 3clusterIP:s 4type:s 5externalIPs:*s 7sessionAffinity:s 8loadBalancerIP:s 9loadBalancerSourceRanges:*s 10externalName:s 11externalTrafficPolicy:s 12healthCheckNodePort:i 13publishNotReadyAddresses:b 14sessionAffinityConfig?:SessionAffinityConfig 17ipFamilyPolicy?:s 18clusterIPs:*s 19ipFamilies:*s 20allocateLoadBalancerNodePorts?:b 21loadBalancerClass?:s 22internalTrafficPolicy?:s 23trafficDistribution?:s
ServiceStatus: 1loadBalancer:LoadBalancerStatus 2conditions:*meta/v1.Condition
SessionAffinityConfig: 1clientIP?:ClientIPConfig
SleepAction: 1seconds?:i
StorageOSPersistentVolumeSource: 1volumeName:s 2volumeNamespace:s 3fsType:s 4readOnly:b 5secretRef?:ObjectReference
StorageOSVolumeSource: 1volumeName:s 2volumeNamespace:s 3fsType:s 4readOnly:b 5secretRef?:LocalObjectReference
Sysctl: 1name?:s 2value?:s
TCPSocketAction: 1port?:I 2host:s
Taint: 1key?:s 2value:s 3effect?:s 4timeAdded?:T
Toleration: 1key:s 2operator:s 3value:s 4effect:s 5tolerationSeconds?:i
TopologySelectorLabelRequirement: 1key?:s 2values?:*s
TopologySelectorTerm: 1matchLabelExpressions:*TopologySelectorLabelRequirement
TopologySpreadConstraint: 1maxSkew?:i 2topologyKey?:s 3whenUnsatisfiable?:s 4labelSelector?:meta/v1.LabelSelector 5minDomains?:i 6nodeAffinityPolicy?:s 7nodeTaintsPolicy?:s 8matchLabelKeys:*s
TypedLocalObjectReference: 1apiGroup?:s 2kind?:s 3name?:s
TypedObjectReference: 1apiGroup?:s 2kind?:s 3name?:s 4namespace?:s
Volume: 1name?:s 2.:VolumeSource
VolumeDevice: 1name?:s 2devicePath?:s
VolumeMount: 1name?:s 2readOnly:b 3mountPath?:s 4subPath:s 5mountPropagation?:s 6subPathExpr:s 7recursiveReadOnly?:s
VolumeMountStatus: 1name?:s 2mountPath?:s 3readOnly:b 4recursiveReadOnly?:s
VolumeNodeAffinity: 1required?:NodeSelector
VolumeProjection: 1secret?:SecretProjection 2downwardAPI?:DownwardAPIProjection 3configMap?:ConfigMapProjection 4serviceAccountToken?:ServiceAccountTokenProjection 5clusterTrustBundle?:ClusterTrustBundleProjection
VolumeResourceRequirements: 1limits:%Q 2requests:%Q
VolumeSource: 1hostPath?:HostPathVolumeSource 2emptyDir?:EmptyDirVolumeSource 3gcePersistentDisk?:GCEPersistentDiskVolumeSource 4awsElasticBlockStore?:AWSElasticBlockStoreVolumeSource 5gitRepo?:GitRepoVolumeSource 6secret?:SecretVolumeSource 7nfs?:NFSVolumeSource 8iscsi?:ISCSIVolumeSource 9glusterfs?:GlusterfsVolumeSource 10persistentVolumeClaim?:PersistentVolumeClaimVolumeSource 11rbd?:RBDVolumeSource 12flexVolume?:FlexVolumeSource 13cinder?:CinderVolumeSource 14cephfs?:CephFSVolumeSource 15flocker?:FlockerVolumeSource 16downwardAPI?:DownwardAPIVolumeSource 17fc?:FCVolumeSource 18azureFile?:AzureFileVolumeSource 19configMap?:ConfigMapVolumeSource 20vsphereVolume?:VsphereVirtualDiskVolumeSource 21quobyte?:QuobyteVolumeSource 22azureDisk?:AzureDiskVolumeSource 23photonPersistentDisk?:PhotonPersistentDiskVolumeSource 24portworxVolume?:PortworxVolumeSource 25scaleIO?:ScaleIOVolumeSource 26projected?:ProjectedVolumeSource 27storageos?:StorageOSVolumeSource 28csi?:CSIVolumeSource 29ephemeral?:EphemeralVolumeSource 30image?:ImageVolumeSource
VsphereVirtualDiskVolumeSource: 1volumePath?:s 2fsType:s 3storagePolicyName:s 4storagePolicyID:s
WeightedPodAffinityTerm: 1weight?:i 2podAffinityTerm?:PodAffinityTerm
WindowsSecurityContextOptions: 1gmsaCredentialSpecName?:s 2gmsaCredentialSpec?:s 3runAsUserName?:s 4hostProcess?:b
= discovery/v1 discovery.k8s.io/v1
Endpoint: 1addresses?:*s 2conditions:EndpointConditions 3hostname?:s 4targetRef?:core/v1.ObjectReference 5deprecatedTopology:%s 6nodeName?:s 7zone?:s 8hints?:EndpointHints
EndpointConditions: 1ready?:b 2serving?:b 3terminating?:b
EndpointHints: 1forZones:*ForZone
EndpointPort: 1name?:s 2protocol?:s 3port?:i 4appProtocol?:s
EndpointSlice: 1metadata:meta/v1.ObjectMeta 2endpoints?:*Endpoint 3ports?:*EndpointPort 4addressType?:s
ForZone: 1name?:s
= events/v1 events.k8s.io/v1
Event: 1metadata?:meta/v1.ObjectMeta 2eventTime?:M 3series?:EventSeries 4reportingController:s 5reportingInstance:s 6action:s 7reason:s 8regarding:core/v1.ObjectReference 9related?:core/v1.ObjectReference 10note:s 11type:s 12deprecatedSource:core/v1.EventSource 13deprecatedFirstTimestamp:T 14deprecatedLastTimestamp:T 15deprecatedCount:i
EventSeries: 1count?:i 2lastObservedTime?:M
= flowcontrol/v1 flowcontrol.apiserver.k8s.io/v1
ExemptPriorityLevelConfiguration: 1nominalConcurrencyShares?:i 2lendablePercent?:i
FlowDistinguisherMethod: 1type?:s
FlowSchema: 1metadata:meta/v1.ObjectMeta 2spec:FlowSchemaSpec 3status:FlowSchemaStatus
FlowSchemaCondition: 1type:s 2status:s 3lastTransitionTime:T 4reason:s 5message:s
FlowSchemaSpec: 1priorityLevelConfiguration?:PriorityLevelConfigurationReference 2matchingPrecedence?:i 3distinguisherMethod?:FlowDistinguisherMethod 4rules:*PolicyRulesWithSubjects
FlowSchemaStatus: 1conditions:*FlowSchemaCondition
GroupSubject: 1name?:s
LimitResponse: 1type?:s 2queuing?:QueuingConfiguration
LimitedPriorityLevelConfiguration: 1nominalConcurrencyShares?:i 2limitResponse:LimitResponse 3lendablePercent?:i 4borrowingLimitPercent?:i
NonResourcePolicyRule: 1verbs?:*s 6nonResourceURLs?:*s
PolicyRulesWithSubjects: 1subjects?:*Subject 2resourceRules:*ResourcePolicyRule 3nonResourceRules:*NonResourcePolicyRule
PriorityLevelConfiguration: 1metadata:meta/v1.ObjectMeta 2spec:PriorityLevelConfigurationSpec 3status:PriorityLevelConfigurationStatus
PriorityLevelConfigurationCondition: 1type:s 2status:s 3lastTransitionTime:T 4reason:s 5message:s
PriorityLevelConfigurationReference: 1name?:s
PriorityLevelConfigurationSpec: 1type?:s 2limited?:LimitedPriorityLevelConfiguration 3exempt?:ExemptPriorityLevelConfiguration
PriorityLevelConfigurationStatus: 1conditions:*PriorityLevelConfigurationCondition
QueuingConfiguration: 1queues?:i 2handSize?:i 3queueLengthLimit?:i
ResourcePolicyRule: 1verbs?:*s 2apiGroups?:*s 3resources?:*s 4clusterScope:b 5namespaces?:*s
ServiceAccountSubject: 1namespace?:s 2name?:s
Subject: 1kind?:s 2user?:UserSubject 3group?:GroupSubject 4serviceAccount?:ServiceAccountSubject
UserSubject: 1name?:s
= meta/v1 meta.k8s.io/v1
Condition: 1type?:s 2status?:s 3observedGeneration:i 4lastTransitionTime?:T 5reason?:s 6message?:s
CreateOptions: 1dryRun:*s 3fieldManager:s 4fieldValidation:s
DeleteOptions: 1gracePeriodSeconds?:i 2preconditions?:Preconditions 3orphanDependents?:b 4propagationPolicy?:s 5dryRun:*s 6ignoreStoreReadErrorWithClusterBreakingPotential?:b
FieldSelectorRequirement: 1key?:s 2operator?:s 3values:*s
LabelSelector: 1matchLabels:%s 2matchExpressions:*LabelSelectorRequirement
LabelSelectorRequirement: 1key?:s 2operator?:s 3values:*s
ListMeta: 1selfLink:s 2resourceVersion:s 3continue:s 4remainingItemCount?:i
ManagedFieldsEntry: 1manager:s 2operation:s 3apiVersion:s 4time?:T 6fieldsType:s 7fieldsV1?:F 8subresource:s
ObjectMeta: 1name:s 2generateName:s 3namespace:s 4selfLink:s 5uid:s 6resourceVersion:s 7generation:i 8creationTimestamp:T 9deletionTimestamp?:T 10deletionGracePeriodSeconds?:i 11labels:%s 12annotations:%s 13ownerReferences:*OwnerReference 14finalizers:*s 17managedFields:*ManagedFieldsEntry
OwnerReference: 1kind?:s 3name?:s 4uid?:s 5apiVersion?:s 6controller?:b 7blockOwnerDeletion?:b
PatchOptions: 1dryRun:*s 2force?:b 3fieldManager:s 4fieldValidation:s
Preconditions: 1uid?:s 2resourceVersion?:s
UpdateOptions: 1dryRun:*s 2fieldManager:s 3fieldValidation:s
= networking/v1 networking.k8s.io/v1
HTTPIngressPath: 1path:s 2backend?:IngressBackend 3pathType?:s
HTTPIngressRuleValue: 1paths?:*HTTPIngressPath
IPBlock: 1cidr?:s 2except:*s
Ingress: 1metadata:meta/v1.ObjectMeta 2spec:IngressSpec 3status:IngressStatus
IngressBackend: 3resource?:core/v1.TypedLocalObjectReference 4service?:IngressServiceBackend
IngressClass: 1metadata:meta/v1.ObjectMeta 2spec:IngressClassSpec
IngressClassParametersReference: 1apiGroup?:s 2kind?:s 3name?:s 4scope?:s 5namespace?:s
IngressClassSpec: 1controller:s 2parameters?:IngressClassParametersReference
IngressLoadBalancerIngress: 1ip:s 2hostname:s 4ports:*IngressPortStatus
IngressLoadBalancerStatus: 1ingress:*IngressLoadBalancerIngress
IngressPortStatus: 1port?:i 2protocol?:s 3error?:s
IngressRule: 1host:s 2.:IngressRuleValue
IngressRuleValue: 1http?:HTTPIngressRuleValue
IngressServiceBackend: 1name?:s 2port:ServiceBackendPort
IngressSpec: 1defaultBackend?:IngressBackend 2tls:*IngressTLS 3rules:*IngressRule 4ingressClassName?:s
IngressStatus: 1loadBalancer:IngressLoadBalancerStatus
IngressTLS: 1hosts:*s 2secretName:s
NetworkPolicy: 1metadata:meta/v1.ObjectMeta 2spec:NetworkPolicySpec
NetworkPolicyEgressRule: 1ports:*NetworkPolicyPort 2to:*NetworkPolicyPeer
NetworkPolicyIngressRule: 1ports:*NetworkPolicyPort 2from:*NetworkPolicyPeer
NetworkPolicyPeer: 1podSelector?:meta/v1.LabelSelector 2namespaceSelector?:meta/v1.LabelSelector 3ipBlock?:IPBlock
NetworkPolicyPort: 1protocol?:s 2port?:I 3endPort?:i
NetworkPolicySpec: 1podSelector?:meta/v1.LabelSelector 2ingress:*NetworkPolicyIngressRule 3egress:*NetworkPolicyEgressRule 4policyTypes:*s
ServiceBackendPort: 1name:s 2number:i
= node/v1 node.k8s.io/v1
Overhead: 1podFixed:%Q
RuntimeClass: 1metadata:meta/v1.ObjectMeta 2handler?:s 3overhead?:Overhead 4scheduling?:Scheduling
Scheduling: 1nodeSelector:%s 2tolerations:*core/v1.Toleration
= policy/v1 policy/v1
Eviction: 1metadata:meta/v1.ObjectMeta 2deleteOptions?:meta/v1.DeleteOptions
PodDisruptionBudget: 1metadata:meta/v1.ObjectMeta 2spec:PodDisruptionBudgetSpec 3status:PodDisruptionBudgetStatus
PodDisruptionBudgetSpec: 1minAvailable?:I 2selector?:meta/v1.LabelSelector 3maxUnavailable?:I 4unhealthyPodEvictionPolicy?:s
PodDisruptionBudgetStatus: 1observedGeneration:i 2disruptedPods:%T 3disruptionsAllowed?:i 4currentHealthy?:i 5desiredHealthy?:i 6expectedPods?:i 7conditions:*meta/v1.Condition
= rbac/v1 rbac.authorization.k8s.io/v1
AggregationRule: 1clusterRoleSelectors:*meta/v1.LabelSelector
ClusterRole: 1metadata:meta/v1.ObjectMeta 2rules?:*PolicyRule 3aggregationRule?:AggregationRule
ClusterRoleBinding: 1metadata:meta/v1.ObjectMeta 2subjects:*Subject 3roleRef?:RoleRef
PolicyRule: 1verbs?:*s 2apiGroups:*s 3resources:*s 4resourceNames:*s 5nonResourceURLs:*s
Role: 1metadata:meta/v1.ObjectMeta 2rules?:*PolicyRule
RoleBinding: 1metadata:meta/v1.ObjectMeta 2subjects:*Subject 3roleRef?:RoleRef
RoleRef: 1apiGroup?:s 2kind?:s 3name?:s
Subject: 1kind?:s 2apiGroup:s 3name?:s 4namespace:s
= scheduling/v1 scheduling.k8s.io/v1
PriorityClass: 1metadata:meta/v1.ObjectMeta 2value?:i 3globalDefault:b 4description:s 5preemptionPolicy?:s
= storage/v1 storage.k8s.io/v1
CSIDriver: 1metadata:meta/v1.ObjectMeta 2spec?:CSIDriverSpec
CSIDriverSpec: 1attachRequired?:b 2podInfoOnMount?:b 3volumeLifecycleModes:*s 4storageCapacity?:b 5fsGroupPolicy?:s 6tokenRequests:*TokenRequest 7requiresRepublish?:b 8seLinuxMount?:b
CSINode: 1metadata:meta/v1.ObjectMeta 2spec?:CSINodeSpec
CSINodeDriver: 1name?:s 2nodeID?:s 3topologyKeys?:*s 4allocatable?:VolumeNodeResources
CSINodeSpec: 1drivers?:*CSINodeDriver
CSIStorageCapacity: 1metadata:meta/v1.ObjectMeta 2nodeTopology?:meta/v1.LabelSelector 3storageClassName?:s 4capacity?:Q 5maximumVolumeSize?:Q
StorageClass: 1metadata:meta/v1.ObjectMeta 2provisioner?:s 3parameters:%s 4reclaimPolicy?:s 5mountOptions:*s 6allowVolumeExpansion?:b 7volumeBindingMode?:s 8allowedTopologies:*core/v1.TopologySelectorTerm
TokenRequest: 1audience?:s 2expirationSeconds?:i
VolumeAttachment: 1metadata:meta/v1.ObjectMeta 2spec?:VolumeAttachmentSpec 3status:VolumeAttachmentStatus
VolumeAttachmentSource: 1persistentVolumeName?:s 2inlineVolumeSpec?:core/v1.PersistentVolumeSpec
VolumeAttachmentSpec: 1attacher?:s 2source?:VolumeAttachmentSource 3nodeName?:s
VolumeAttachmentStatus: 1attached?:b 2attachmentMetadata:%s 3attachError?:VolumeError 4detachError?:VolumeError
VolumeError: 1time:T 2message:s
VolumeNodeResources: 1count?:i
`;
