/** The numbers of the standalone network; documentation ranges where the outside world could see them. */

export const vip = '198.51.100.10';
export const vipPrefix = `${vip}/32`;
export const pool = '198.51.100.0/24';
export const apiPort = 6443;
export const edgeAsn = 64500;
export const masterAsn = 64512;
/** The shortest that BGP allows: a silent death is to be noticed within a test. */
export const holdSeconds = 3;
