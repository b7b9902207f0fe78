/** The processors that there is an image for, and what the world calls them. */

export const architectures = {
  x64: {
    debian: 'amd64',
    docker: 'linux/amd64',
    triplet: 'x86_64-linux-gnu',
    machine: 62,
    loader: '/lib64/ld-linux-x86-64.so.2',
  },
  arm64: {
    debian: 'arm64',
    docker: 'linux/arm64',
    triplet: 'aarch64-linux-gnu',
    machine: 183,
    loader: '/lib/ld-linux-aarch64.so.1',
  },
} as const;

export type Architecture = keyof typeof architectures;

export function parseArchitecture(text: string): Architecture {
  for (const [name, { debian, docker }] of Object.entries(architectures)) {
    if ([name, debian, docker].includes(text) && isArchitecture(name)) return name;
  }
  throw new Error(`there is no image for the processor ${text}; there is one for x64 and arm64.`);
}

function isArchitecture(text: string): text is Architecture {
  return Object.hasOwn(architectures, text);
}
