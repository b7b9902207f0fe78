/**
 * A pod for the kubelet's manifests folder: it runs with no API server, which is the point, since the address of the API server is
 * what it announces. Everything it needs comes from the host: documents, state, the control socket, the authority of the join check.
 */

import type { Documents } from '../model/documents.ts';
import {
  type AgentSettings,
  agentArguments,
  needsBindService,
  passwordFiles,
  RUN_FOLDER,
  STATE_FOLDER,
  stopSeconds,
} from './agent-command.ts';
import { ManifestRefusal } from './refusal.ts';

export interface StaticPodOptions {
  readonly image: string;
}

interface Mount {
  readonly name: string;
  readonly path: string;
  readonly type: 'Directory' | 'DirectoryOrCreate' | 'File';
  readonly readOnly: boolean;
}

export function renderStaticPod(
  documents: Documents,
  settings: AgentSettings,
  options: StaticPodOptions,
): string {
  const mounts = mountsOf(documents, settings);
  const capabilities = needsBindService(documents, settings)
    ? 'NET_ADMIN, NET_BIND_SERVICE'
    : 'NET_ADMIN';
  const seconds = stopSeconds(documents);
  return `# Written by: herald manifest static-pod. For /etc/kubernetes/manifests/herald.yaml on every control-plane node, before
# kubeadm init or join. One agent per host: not beside herald.service.
apiVersion: v1
kind: Pod
metadata:
  name: herald
  namespace: kube-system
  labels:
    app.kubernetes.io/name: herald
    app.kubernetes.io/component: agent
spec:
  hostNetwork: true
  # names are resolved as on the host: the cluster's DNS may not be there yet
  dnsPolicy: Default
  priorityClassName: system-node-critical
  restartPolicy: Always
  tolerations:
    - operator: Exists
  # longer than the longest drain of the pools
  terminationGracePeriodSeconds: ${seconds}
  securityContext:
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: agent
      image: ${JSON.stringify(options.image)}
      imagePullPolicy: IfNotPresent
      args:
${agentArguments(documents, settings)
  .map((argument) => `        - ${JSON.stringify(argument)}\n`)
  .join('')}      env:
        - name: HERALD_NODE_NAME
${
  settings.nodeName === undefined
    ? '          valueFrom:\n            fieldRef:\n              fieldPath: spec.nodeName\n'
    : `          value: ${JSON.stringify(settings.nodeName)}\n`
}      resources:
        requests:
          cpu: 10m
          memory: 128Mi
      securityContext:
        # root owns the password files; of its powers only these are left
        runAsUser: 0
        privileged: false
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
          add: [${capabilities}]
      volumeMounts:
${mounts.map(renderMount).join('')}  volumes:
${mounts.map(renderVolume).join('')}`;
}

function mountsOf(documents: Documents, settings: AgentSettings): Mount[] {
  const folder = settings.documentsFolder;
  const authority = authorityFolder(settings);
  const isElsewhere = (path: string) =>
    !path.startsWith(`${folder}/`) &&
    (authority === undefined || !path.startsWith(`${authority}/`));
  const files = passwordFiles(documents).filter(isElsewhere);
  return [
    { name: 'documents', path: folder, type: 'Directory', readOnly: true },
    { name: 'state', path: STATE_FOLDER, type: 'DirectoryOrCreate', readOnly: false },
    { name: 'run', path: RUN_FOLDER, type: 'DirectoryOrCreate', readOnly: false },
    // The folder, though keys lie in it: the file is not there before kubeadm, and is replaced by renaming, which a mounted file
    // does not follow.
    ...(authority === undefined
      ? []
      : [
          {
            name: 'authority',
            path: authority,
            type: 'DirectoryOrCreate' as const,
            readOnly: true,
          },
        ]),
    ...files.map((path, index) => ({
      name: `file-${index + 1}`,
      path,
      type: 'File' as const,
      readOnly: true,
    })),
  ];
}

/** Undefined: there is none, or it is among the documents. */
function authorityFolder({ joinCa, documentsFolder }: AgentSettings): string | undefined {
  if (joinCa === undefined || joinCa.startsWith(`${documentsFolder}/`)) return undefined;
  const folder = joinCa.slice(0, joinCa.lastIndexOf('/'));
  if (folder !== '') return folder;
  throw new ManifestRefusal(
    `--join-ca ${joinCa} lies in the root folder, which a pod cannot mount; put it into a folder of its own`,
  );
}

function renderMount({ name, path, readOnly }: Mount): string {
  return `        - name: ${name}
          mountPath: ${JSON.stringify(path)}
${readOnly ? '          readOnly: true\n' : ''}`;
}

function renderVolume({ name, path, type }: Mount): string {
  return `    - name: ${name}
      hostPath:
        path: ${JSON.stringify(path)}
        type: ${type}
`;
}
