/**
 * A kernel that is built without loadable modules has no /proc/modules, and containerlab takes the missing file for an error before it
 * deploys anything. On such a kernel, and only there, it is built with one file in another form, which says of every module: built in.
 * Whether that is true shows at once, since containerlab asks for modules of iptables only and the lab uses none of its rules.
 */

/** The file of containerlab that reads /proc/modules. */
export const moduleFile = 'utils/kernel_module.go';

const reading = '\tf, err := os.Open("/proc/modules")\n';
const missingIsBuiltIn = '\tif os.IsNotExist(err) {\n\t\treturn true, nil\n\t}\n';

/** The same Go source, with "no such file" read as "built in". */
export function withBuiltInModules(source: string): string {
  const parts = source.split(reading);
  if (parts.length !== 2)
    throw new Error(
      `${moduleFile} of containerlab does not open /proc/modules at one place; its layout has changed.`,
    );
  return parts.join(`${reading}${missingIsBuiltIn}`);
}
