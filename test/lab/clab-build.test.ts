import { expect } from 'chai';
import { withBuiltInModules } from '../../lab/clab/built-in-modules.ts';

const source = `func isKernelModuleLoadable(name string) (bool, error) {
	f, err := os.Open("/proc/modules")
	if err != nil {
		return false, err
	}
`;

describe('containerlab for a kernel without modules', () => {
  it('takes a missing /proc/modules for "built in" and every other error for an error', () => {
    expect(
      withBuiltInModules(source),
    ).to.equal(`func isKernelModuleLoadable(name string) (bool, error) {
	f, err := os.Open("/proc/modules")
	if os.IsNotExist(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
`);
  });

  it('refuses a source that does not read the file, or reads it twice', () => {
    expect(() => withBuiltInModules('package utils\n')).to.throw(/layout has changed/);
    expect(() => withBuiltInModules(source + source)).to.throw(/layout has changed/);
  });
});
