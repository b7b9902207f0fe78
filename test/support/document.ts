/** A document as text: JSON is YAML, and needs no quoting rules of a test's own. */
export function documentText(kind: string, name: string, spec: object): string {
  return JSON.stringify({ apiVersion: 'herald.dev/v1alpha1', kind, metadata: { name }, spec });
}
