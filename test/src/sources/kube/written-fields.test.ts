import { expect } from 'chai';
import { isRecordOfOurs } from '../../../../src/sources/kube/written-fields.ts';

describe('the record of who wrote which field, read', () => {
  const ours = { manager: 'herald', operation: 'Update' };
  const person = { manager: 'kubectl-edit', operation: 'Update' };

  for (const { title, managedFields, isOurs } of [
    {
      title: 'ours alone',
      managedFields: [ours, { ...ours, subresource: 'status' }],
      isOurs: true,
    },
    {
      title: 'what was applied in our name',
      managedFields: [{ ...ours, operation: 'Apply' }],
      isOurs: false,
    },
    { title: 'a person among us', managedFields: [ours, person], isOurs: false },
    { title: 'a person alone', managedFields: [person], isOurs: false },
    { title: 'none is kept', managedFields: undefined, isOurs: false },
    { title: 'an empty one', managedFields: [], isOurs: false },
    { title: 'an entry without a name', managedFields: [ours, {}], isOurs: false },
    { title: 'what is no record at all', managedFields: 'herald', isOurs: false },
  ]) {
    it(`${title}: ${isOurs ? 'may go' : 'stays as it is'}`, () => {
      expect(isRecordOfOurs({ managedFields })).to.equal(isOurs);
    });
  }
});
