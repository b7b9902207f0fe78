/** Addresses and numbers of the two machines of the bench: one veth pair, an external session over it. */

export const network = {
  receiver: '10.99.0.1',
  sender: '10.99.0.2',
  length: 24,
  receiverAsn: 65001,
  senderAsn: 65002,
  port: 179,
} as const;
