import { expect } from 'chai';
import {
  AttributeCode,
  attributeName,
  CapabilityCode,
  CeaseSubcode,
  capabilityName,
  ErrorCode,
  FsmSubcode,
  HeaderSubcode,
  MessageType,
  messageTypeName,
  notificationName,
  OpenSubcode,
  RouteRefreshSubcode,
  UpdateSubcode,
} from '../../../protocol/bgp/codes.ts';

describe('names of codes', () => {
  it('has a word for every number that we use', () => {
    for (const type of Object.values(MessageType)) {
      expect(messageTypeName(type)).to.not.match(/\d/);
    }
    for (const code of Object.values(CapabilityCode)) {
      expect(capabilityName(code)).to.not.match(/\d/);
    }
    for (const code of Object.values(AttributeCode)) {
      expect(attributeName(code)).to.not.match(/^attribute/);
    }
    const subcodes = {
      [ErrorCode.header]: HeaderSubcode,
      [ErrorCode.open]: OpenSubcode,
      [ErrorCode.update]: UpdateSubcode,
      [ErrorCode.holdTimerExpired]: {},
      [ErrorCode.fsm]: FsmSubcode,
      [ErrorCode.cease]: CeaseSubcode,
      [ErrorCode.routeRefresh]: RouteRefreshSubcode,
      [ErrorCode.sendHoldTimerExpired]: {},
    };
    for (const [code, table] of Object.entries(subcodes)) {
      expect(notificationName(Number(code), 0)).to.not.match(/\d/);
      for (const subcode of Object.values(table)) {
        expect(notificationName(Number(code), subcode)).to.not.match(/\d/);
      }
    }
  });

  it('names what it does not know by its number', () => {
    expect(messageTypeName(77)).to.equal('message type 77');
    expect(capabilityName(222)).to.equal('capability-222');
    expect(attributeName(222)).to.equal('attribute 222');
    expect(notificationName(6, 77)).to.equal('Cease/subcode 77');
    expect(notificationName(77, 1)).to.equal('error 77/1');
  });
});
