/** What the runner says when it will not do something: one sentence for a person, with the place where there is one. */
export class LabRefusal extends Error {
  readonly code = 'LAB_REFUSED';
}
