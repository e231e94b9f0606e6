/* vgpu.pml - the vendor-vfio claim protocol of virt-vgpu, for spin 6.5.
 *
 * Domains A (0) and its clone B (1).  Host has NV VFs, a domain names LEN of them (LEN=2: A in order 0,1, B in order 1,0).
 * A type is written as the domain's number + 1; 0 = clean, 9 = left by somebody else.
 * -DMDEV_ALLOC keeps the allocation lock up to the claims, as the selection of an mdev parent does.
 * The protocol of docs/protocol.md is the default; -DM_xxx takes one rule away (check expects a failure then); -DORIG = the first draft, read literally.
 * Fault budgets: STA STB starts, LK libvirt SIGKILL, HK hook SIGKILL, DC daemon crash, QC QEMU crash, LG libvirt 9.0 "stopped" with QEMU
 * alive (SIGKILL pending, in D state: it may still finish an open), FG libvirt restarted without the status file (forgets a live QEMU),
 * RF refused reset, WF refused type write, DS daemon lifecycle starts of A (each claims before it calls libvirt), RB rebinds.
 */
#ifndef NV
#define NV 1
#endif
#ifndef LEN
#define LEN 1
#endif
#ifndef STA
#define STA 2
#endif
#ifndef STB
#define STB 1
#endif
#ifndef LK
#define LK 0
#endif
#ifndef HK
#define HK 0
#endif
#ifndef DC
#define DC 0
#endif
#ifndef QC
#define QC 0
#endif
#ifndef LG
#define LG 0
#endif
#ifndef FG
#define FG 0
#endif
#ifndef RF
#define RF 0
#endif
#ifndef WF
#define WF 0
#endif
#ifndef DS
#define DS 0
#endif
#ifndef RB
#define RB 0
#endif
#ifndef DIRTY
#define DIRTY 0
#endif
#ifdef ORIG              /* the first draft of the protocol, read literally */
#define M_NOORPHAN_P
#define M_NOORPHAN_R
#define M_LINK_NODL
#define M_NOCMD
#define M_RELPRE
#endif

#define NQ 4             /* QEMU slots: start n of A = 0,1; of B = 2,3 */
#define QD(q) ((q)/2)
#define OWN(d) ((d)+1)

/* claims: cl_own 0 = no file */
#define RESERVED 1       /* made by the daemon before it calls libvirt: hardware untouched */
#define CONFIGURING 2    /* made by prepare: hardware may have been written */
#define CONFIGURED 3
#define DRAIN 4          /* the start of this incarnation is over for good; device not yet proven free */
byte cl_own[NV], cl_inc[NV], cl_st[NV], cl_vm[NV];
byte type[NV];
bit  probe[NV];          /* somebody has the group node open to test it */
byte al, dl[NV];         /* allocation lock, device locks: holder + 1 */
byte inc;                /* last incarnation given out */
#define NEWINC inc++     /* a random UUID in reality */

/* libvirt: one state machine per domain, its mutex held in every state but OFF and RUN */
#define OFF 0
#define PREP 1           /* prepare hook runs */
#define PREPD 2          /* prepare returned 0, QEMU not yet forked, no status file */
#define SPAWNED 3        /* forked, pid file locked, status saved, child waits for the handshake */
#define LAUNCH 4         /* QEMU executes */
#define STARTD 5         /* started hook runs */
#define RUN 6
#define STOP1 7          /* kill, stopped */
#define STOP2 8          /* status and pid files gone */
#define STOP3 9          /* release hook runs */
byte lvpc[2]; bit lv_alive = 1; byte lvres[2];   /* 0 none 1 ok 2 failed */
byte starts[2]; byte live[2];                    /* live[d]: VF in the running definition (LEN=1) */
byte xml[2]; byte cur[2];                        /* cur: ghost, incarnation of the start in progress or running; 0 = none */
byte pre;                                        /* ghost: incarnation of a reservation whose daemon still works on it */
byte lk = LK, hk = HK, dc = DC, qc = QC, lg = LG, fg = FG, rf = RF, wf = WF, ds = DS, rb = RB;
bit wantA;                                       /* the daemon asked libvirt to start A */
bit il;                                          /* instance lock of A in the daemon's memory */

/* hooks: slots 0,1 for A (one may be an orphan), 2 for B */
#define OPREP 1
#define OREL 2
#define OSTD 3
byte hop[3]; bit horph[3], hkill[3]; bit dcrash, dcrash2;

/* QEMU */
#define NONE 0
#define SPAWN 1
#define EXEC 2
#define OPEN 3
#define DEAD 4
byte qst[NQ], qinc[NQ], qv[NQ]; bit qkp[NQ], qpl[NQ];   /* kill pending; pid file still linked */
#define USES(q,v) (LEN > 1 || qv[q] == v)
#define MAY(q,v) (qst[q] >= SPAWN && qst[q] <= OPEN && USES(q,v))
#define ANYMAY(v) (MAY(0,v) || MAY(1,v) || MAY(2,v) || MAY(3,v))
#define ISOPEN(q,v) (qst[q] == OPEN && USES(q,v))
#define ANYOPEN(v) (ISOPEN(0,v) || ISOPEN(1,v) || ISOPEN(2,v) || ISOPEN(3,v))
#define LOCKQ(q) (qst[q] >= SPAWN && qst[q] <= OPEN && qpl[q])   /* F_GETLK by path */
#define CMDQ(q) (qst[q] == EXEC || qst[q] == OPEN)               /* /proc/<pid>/cmdline holds -uuid <domain> */
#define RECQ(v) (cl_vm[v] != 0 && qst[cl_vm[v]-1] != DEAD)
#ifdef M_NOWIT
#define WIT(o,v) 0
#else
#ifdef M_NOCMD
#define WIT(o,v) (LOCKQ(2*(o)) || LOCKQ(2*(o)+1) || RECQ(v))
#else
#define WIT(o,v) (LOCKQ(2*(o)) || LOCKQ(2*(o)+1) || RECQ(v) || CMDQ(2*(o)) || CMDQ(2*(o)+1))
#endif
#endif

#define QDEAD(o,i) ((qst[2*(o)] == DEAD && qinc[2*(o)] == i) || (qst[2*(o)+1] == DEAD && qinc[2*(o)+1] == i))
/* ---- checks at the points where something irreversible happens ---- */
/* a reset for incarnation i of domain o: nobody has the VF open or may still open it, and that start is over (or it is our own undo) */
#define CHK_RESET(v, i) \
  assert(!ANYOPEN(v));                                    /* I4 */ \
  assert(cl_own[v] != 0 && cl_inc[v] == i);               /* I3 */ \
  assert(!ANYMAY(v))                                      /* I4, window */
#define CHK_OVER(v) assert(cl_inc[v] != cur[cl_own[v]-1] || QDEAD(cl_own[v]-1, cl_inc[v]))              /* I5, and the window between prepare and fork */
#define CHK_PRE(v) assert(pre == 0 || cl_inc[v] != pre)                /* I5, reservation of a living daemon */
#define CHK_WRITE(v, d, i) assert(cl_own[v] == OWN(d) && cl_inc[v] == i); /* I2 */ assert(!ANYMAY(v))
#define CHK_UNCLAIM(v, i) assert(cl_own[v] != 0 && cl_inc[v] == i); /* I1,I5 */ assert(!ANYMAY(v)); assert(type[v] == 0 || cl_st[v] == RESERVED) /* I3 */

inline unclaim(v) { cl_own[v] = 0; cl_inc[v] = 0; cl_st[v] = 0; cl_vm[v] = 0 }
inline drop(h) { if :: al == h -> al = 0 :: else fi; if :: dl[0] == h -> dl[0] = 0 :: else fi; if :: NV > 1 && dl[NV-1] == h -> dl[NV-1] = 0 :: else fi }

/* witnesses that the VMM of domain o still lives, then the exclusive open of the group node; bad = 1: in use or doubt */
inline witness(v, o, bad) {
  bad = WIT(o, v);
  if
  :: bad -> skip
  :: else -> tryopen(v, bad)
  fi
}
inline tryopen(v, bad) {
  if
  :: d_step { ANYOPEN(v) -> bad = 1 }
  :: d_step { !ANYOPEN(v) -> probe[v] = 1; bad = 0 }; probe[v] = 0
  fi
}

#define V(d,i) (LEN == 1 -> xv : ((d) == 0 -> (i) : NV-1-(i)))
#define DFREE(d) (LEN == 1 -> dl[xv] == 0 : (dl[0] == 0 && dl[NV-1] == 0))

proctype Hook(byte me; byte d)
{ byte i, v, o, xv, my; bit bad, ok; bit tk;
end_idle:
  do
  :: hop[me] != 0 ->
     { d_step { xv = live[d]; ok = 0; bad = 0; i = 0; my = 0 };
       if
       :: hop[me] == OPREP ->
          /* P1 locks: allocation, then try all device locks; none or all (retry until the deadline) */
#ifdef M_LOCKORDER
          d_step { dl[V(d,0)] == 0 -> dl[V(d,0)] = me+1 };
          d_step { dl[V(d,LEN-1)] == 0 || dl[V(d,LEN-1)] == me+1 -> dl[V(d,LEN-1)] = me+1 };
#else
#ifdef M_LINK_NODL
#ifndef M_RENAME
          d_step { al == 0 -> al = me+1 };
#endif
#else
          d_step { al == 0 && DFREE(d) -> al = me+1; dl[V(d,0)] = me+1; dl[V(d,LEN-1)] = me+1 };
#endif
#endif
          /* P2 still libvirt's child? */
#ifndef M_NOORPHAN_P
          if :: horph[me] -> goto out :: else fi;
#endif
          /* every device is named by the XML and locked: nothing is selected, so the allocation lock goes back before anything slow (an mdev's parent
             is selected: there it is kept up to the claims) */
#if !defined(M_LINK_NODL) && !defined(MDEV_ALLOC)
          if :: al == me+1 -> al = 0 :: else fi;
#endif
          /* P3 check every device */
          do
          :: i < LEN -> v = V(d,i); o = cl_own[v];
             if
             :: o == 0 -> skip
             :: o != 0 && o != OWN(d) && cl_st[v] != DRAIN -> goto out       /* held by another */
             :: o == OWN(d) -> witness(v, d, bad); if :: bad -> goto out :: else fi
             :: o != 0 && o != OWN(d) && cl_st[v] == DRAIN ->                /* finish the other's release */
                witness(v, o-1, bad); if :: bad -> goto out :: else fi;
                if
                :: d_step { CHK_RESET(v, cl_inc[v]); CHK_OVER(v); type[v] = 0 }
                :: d_step { rf > 0 && type[v] != 0 -> rf-- } ; goto out
                fi;
                d_step { CHK_UNCLAIM(v, cl_inc[v]); unclaim(v) }
             fi;
             tryopen(v, bad);                                               /* any holder at all, foreign ones too */
             if :: bad -> goto out :: else fi;
             i++
          :: else -> break
          od;
#ifdef M_TYPE_FIRST
          skip; d_step { CHK_WRITE(V(d,0), d, 99); type[V(d,0)] = OWN(d) };
#endif
          skip;
          /* P4 claim all: link(2) when there is no file, rename over our own stale one; always a new incarnation */
          d_step { 
#ifdef M_KEEPINC
            if :: cl_own[V(d,0)] == OWN(d) -> my = cl_inc[V(d,0)] :: else -> NEWINC; my = inc fi;
#else
            NEWINC; my = inc;
#endif
            if :: !horph[me] -> cur[d] = my :: else fi; i = 0 };
          do
          :: i < LEN -> v = V(d,i);
             d_step {
#ifndef M_RENAME
               if :: cl_own[v] != 0 && cl_own[v] != OWN(d) -> bad = 1 :: else -> skip fi;
#endif
               if :: !bad -> assert(cl_own[v] == 0 || cl_own[v] == OWN(d)); /* I1 */
                             if :: cl_own[v] == OWN(d) -> assert(!ANYMAY(v)); assert(cl_inc[v] == my || (cl_inc[v] != cur[d])) :: else fi;
                             cl_own[v] = OWN(d); cl_inc[v] = my; cl_st[v] = CONFIGURING; cl_vm[v] = 0
                  :: else -> skip fi };
             if :: bad -> goto undo :: else fi;
             i++
          :: else -> i = 0; break
          od;
          if :: al == me+1 -> al = 0 :: else fi;
#ifdef M_LINK_NODL
          do
          :: i < LEN -> v = V(d,i); d_step { dl[v] == 0 -> dl[v] = me+1 }; tryopen(v, bad); if :: bad -> goto undo :: else fi; i++
          :: else -> i = 0; break
          od;
#endif
          /* P5 clean, configure, read back */
          do
          :: i < LEN -> v = V(d,i);
             if
             :: type[v] == 0 -> skip
             :: type[v] != 0 -> if :: d_step { CHK_RESET(v, my); type[v] = 0 }
                                   :: d_step { rf > 0 -> rf--; bad = 1 } fi;
                                if :: bad -> goto undo :: else fi
             fi;
             if
             :: d_step { CHK_WRITE(v, d, my); type[v] = OWN(d) }
             :: d_step { wf > 0 -> wf--; CHK_WRITE(v, d, my); type[v] = 0; bad = 1 }
             fi;
             if :: bad -> goto undo :: else fi;
             d_step { cl_own[v] == OWN(d) && cl_inc[v] == my -> cl_st[v] = CONFIGURED };
             i++
          :: else -> break
          od;
          ok = 1; goto out;
undo:     /* U: reset what carries our claim, unclaim; a refused reset leaves it draining */
          i = 0;
          do
          :: i < LEN -> v = V(d,i);
             if
             :: cl_own[v] == OWN(d) && cl_inc[v] == my ->
                if
                :: d_step { CHK_RESET(v, my); type[v] = 0 };
#ifdef M_UNDO_EARLY
                   drop(me+1);
#endif
                   d_step { CHK_UNCLAIM(v, my); unclaim(v) }
                :: d_step { rf > 0 -> rf--; cl_st[v] = DRAIN; if :: cur[d] == my -> cur[d] = 0 :: else fi }
                fi
             :: else -> skip
             fi; i++
          :: else -> break
          od
       :: hop[me] == OREL ->
          /* every claim of this UUID, whatever the XML names now */
          do
          :: i < NV ->
#ifdef M_STALE
             v = i; o = cl_own[v]; my = cl_inc[v];
#endif
             /* R1 device lock */
             d_step { dl[i] == 0 -> dl[i] = me+1 };
             /* R2 still libvirt's child? */
#ifndef M_NOORPHAN_R
             if :: horph[me] -> goto out :: else fi;
#endif
             /* R3 read the claim under the lock */
             v = i; 
#ifndef M_STALE
             o = cl_own[v]; my = cl_inc[v];
#endif
             if
#ifdef M_RELPRE
             :: o == OWN(d) ->
#else
#ifdef ALT_REC
             :: o == OWN(d) && cl_vm[v] != 0 && !RECQ(v) ->
#else
             :: o == OWN(d) && cl_st[v] != RESERVED ->
#endif
#endif
                d_step { CHK_OVER(v); CHK_PRE(v); cl_st[v] = DRAIN };                 /* R4 */
                witness(v, d, bad);                                                  /* R5 */
                if
                :: bad -> skip
                :: else ->
#ifdef M_UNCLAIM_FIRST
                   unclaim(v);
#endif
                   if
                   :: d_step { CHK_RESET(v, my); CHK_OVER(v); type[v] = 0 };          /* R6 */
                      d_step { CHK_UNCLAIM(v, my); CHK_OVER(v); unclaim(v) }          /* R7 */
                   :: d_step { rf > 0 && type[v] != 0 -> rf-- }
#ifdef M_UNCLAIM_DIRTY
                      ; d_step { CHK_UNCLAIM(v, my); unclaim(v) }
#endif
                   fi
                fi
             :: else -> skip
             fi;
             dl[i] = 0; i++
          :: else -> break
          od
       :: hop[me] == OSTD ->
          do
          :: i < NV ->
#ifdef M_STD_NOLOCK
             o = cl_own[i]; my = cl_inc[i];
             if :: o == OWN(d) -> d_step { cl_own[i] = o; cl_inc[i] = my; cl_st[i] = CONFIGURED; cl_vm[i] = (qst[2*d+1] != NONE -> 2*d+2 : 2*d+1) } :: else fi;
#else
             if
             :: d_step { dl[i] == 0 -> dl[i] = me+1 };
                if :: horph[me] -> goto out :: else fi;
                if
                :: d_step { cl_own[i] == OWN(d) && cl_st[i] == CONFIGURED && LOCKQ(2*d) && cl_inc[i] == qinc[2*d] -> cl_vm[i] = 2*d+1 }
                :: d_step { cl_own[i] == OWN(d) && cl_st[i] == CONFIGURED && LOCKQ(2*d+1) && cl_inc[i] == qinc[2*d+1] -> cl_vm[i] = 2*d+2 }
                :: else -> skip
                fi;
                dl[i] = 0
             :: dl[i] != 0 -> skip                       /* bounded: gives up */
             fi;
#endif
             i++
          :: else -> break
          od; ok = 1
       fi;
out:   skip; d_step { drop(me+1); if :: !horph[me] -> lvres[d] = (ok -> 1 : 2) :: else fi;
                hop[me] = 0; horph[me] = 0; hkill[me] = 0; i = 0; v = 0; o = 0; xv = 0; my = 0; bad = 0; ok = 0 }
     } unless { d_step { hkill[me] -> hkill[me] = 0; drop(me+1); if :: !horph[me] -> lvres[d] = 2 :: else fi;
                probe[0] = (probe[0] && dl[0] != 0); probe[NV-1] = (probe[NV-1] && dl[NV-1] != 0);
                hop[me] = 0; horph[me] = 0; i = 0; v = 0; o = 0; xv = 0; my = 0; bad = 0; ok = 0 } }
  od
}

/* libvirt, one thread per domain; every step is guarded by lv_alive, and the SIGKILL below moves lvpc by the loss rules */
#define SLOT(d) (d == 1 -> 2 : (hop[0] == 0 -> 0 : 1))
#define SLOTFREE(d) (d == 1 -> hop[2] == 0 : (hop[0] == 0 || hop[1] == 0))
inline call(d, op) { lvres[d] = 0; hop[SLOT(d)] = op }
#define Q(d) (2*(d) + starts[d] - 1)

proctype Libvirt(byte d)
{ byte s;
end_lv:
  do
  :: d_step { lv_alive && lvpc[d] == OFF && starts[d] < (d == 0 -> STA : STB) && SLOTFREE(d) && (d == 1 || DS == 0 || wantA || starts[0] < STA - 1) ->
       starts[d]++; live[d] = xml[d]; cur[d] = 0; lvpc[d] = PREP; s = SLOT(d); lvres[d] = 0; hop[s] = OPREP; s = 0; if :: d == 0 -> wantA = 0 :: else fi }
  :: d_step { lv_alive && lvpc[d] == PREP && lvres[d] == 1 -> lvpc[d] = PREPD; lvres[d] = 0 }
  :: d_step { lv_alive && lvpc[d] == PREP && lvres[d] == 2 -> lvpc[d] = STOP1; lvres[d] = 0; cur[d] = 0 }
  :: d_step { lv_alive && lvpc[d] == PREPD -> qst[Q(d)] = SPAWN; qinc[Q(d)] = cur[d]; qv[Q(d)] = live[d]; qpl[Q(d)] = 1; lvpc[d] = SPAWNED }
  :: d_step { lv_alive && lvpc[d] == PREPD && qc > 0 -> qc--; lvpc[d] = STOP1; cur[d] = 0 }          /* a host check fails after prepare */
  :: d_step { lv_alive && lvpc[d] == SPAWNED -> qst[Q(d)] = EXEC; lvpc[d] = LAUNCH }
  :: d_step { lv_alive && lvpc[d] == LAUNCH && qst[Q(d)] == OPEN && SLOTFREE(d) -> lvpc[d] = STARTD; s = SLOT(d); lvres[d] = 0; hop[s] = OSTD; s = 0 }
  :: d_step { lv_alive && lvpc[d] == STARTD && lvres[d] != 0 -> lvpc[d] = RUN; lvres[d] = 0 }
  :: d_step { lv_alive && (lvpc[d] == LAUNCH || lvpc[d] == RUN) && qst[Q(d)] == DEAD -> lvpc[d] = STOP1; cur[d] = 0 }
  :: d_step { lv_alive && lvpc[d] == LAUNCH && lg > 0 && qst[Q(d)] != DEAD -> lvpc[d] = STOP1; cur[d] = 0 }   /* no monitor in time, or destroyed */
  :: d_step { lv_alive && lvpc[d] == RUN && qst[Q(d)] != DEAD -> lvpc[d] = STOP1; cur[d] = 0 }      /* destroy, shutdown */
  :: d_step { lv_alive && lvpc[d] == STOP1 ->                                                      /* kill works (or no QEMU) */
       if :: qst[Q(d)] != NONE && !qkp[Q(d)] -> qst[Q(d)] = DEAD :: else fi; cur[d] = 0; lvpc[d] = STOP2 }
  :: d_step { lv_alive && lvpc[d] == STOP1 && lg > 0 && (qst[Q(d)] == EXEC || qst[Q(d)] == OPEN) -> lg--; qkp[Q(d)] = 1; cur[d] = 0; lvpc[d] = STOP2 }
  :: d_step { lv_alive && lvpc[d] == STOP2 && SLOTFREE(d) -> qpl[Q(d)] = 0; lvpc[d] = STOP3; s = SLOT(d); lvres[d] = 0; hop[s] = OREL; s = 0 }
  :: d_step { lv_alive && lvpc[d] == STOP3 && lvres[d] != 0 -> lvpc[d] = OFF; lvres[d] = 0 }
  od
}

inline killed(d) {   /* 1.5: what the next daemon knows */
  if
  :: lvpc[d] == PREP || lvpc[d] == PREPD -> lvpc[d] = OFF; cur[d] = 0             /* no status file: nothing, ever */
  :: lvpc[d] == SPAWNED -> qst[Q(d)] = DEAD; lvpc[d] = STOP1; cur[d] = 0           /* child gets EOF in the handshake; status exists */
  :: lvpc[d] == LAUNCH || lvpc[d] == STARTD -> lvpc[d] = STOP1                     /* starting-up: killed at reconnect */
  :: lvpc[d] == STOP3 -> lvpc[d] = OFF                                             /* release never repeated */
  :: else -> skip                                                                  /* OFF, RUN, STOP1, STOP2 */
  fi; lvres[d] = 0
}
proctype Faults()
{
end_f:
  do
  :: d_step { lk > 0 && lv_alive -> lk--; lv_alive = 0; killed(0); killed(1); wantA = 0;
       horph[0] = (hop[0] != 0); horph[1] = (hop[1] != 0); horph[2] = (hop[2] != 0);
#ifdef ALT_PDEATH
       hkill[0] = horph[0]; hkill[1] = horph[1]; hkill[2] = horph[2];
#endif
     }
  :: d_step { !lv_alive -> lv_alive = 1 }
  :: d_step { !lv_alive && fg > 0 && lvpc[0] == RUN -> fg--; lv_alive = 1; lvpc[0] = OFF; cur[0] = 0 }                     /* forgets QEMU */
  :: d_step { !lv_alive && fg > 0 && lvpc[0] == STOP1 && qst[Q(0)] == EXEC -> fg--; lv_alive = 1; lvpc[0] = OFF; cur[0] = 0 }
  :: d_step { hk > 0 && hop[0] != 0 && !hkill[0] -> hk--; hkill[0] = 1 }
  :: d_step { hk > 0 && hop[1] != 0 && !hkill[1] -> hk--; hkill[1] = 1 }
  :: d_step { hk > 0 && hop[2] != 0 && !hkill[2] -> hk--; hkill[2] = 1 }
  :: d_step { dc > 0 && !dcrash && !dcrash2 -> dc--; dcrash = 1; dcrash2 = (DS > 0) }
  od
}

proctype Qemu(byte q)
{ byte v;
end_q:
  do
  :: d_step { qst[q] == EXEC -> v = (LEN == 1 -> qv[q] : 0);
       do
       :: assert(probe[v] == 0);                                        /* (5) a probe must not make QEMU fail with EBUSY */
          assert(!ANYOPEN(v));                                          /* two QEMUs on one VF */
          assert(type[v] == OWN(QD(q)));                                /* I4 */
          assert(cl_own[v] == OWN(QD(q)) && cl_inc[v] == qinc[q]);
          if :: LEN > 1 && v < NV-1 -> v++ :: else -> break fi
       od; v = 0; qst[q] = OPEN }
  :: d_step { qc > 0 && !qkp[q] && (qst[q] == EXEC || qst[q] == OPEN) -> qc--; qst[q] = DEAD }
  :: d_step { qkp[q] && qst[q] != DEAD -> qst[q] = DEAD }                /* the pending SIGKILL takes effect at last */
  :: d_step { FG > 0 && fg == 0 && q < 2 && lvpc[0] == OFF && (qst[q] == EXEC || qst[q] == OPEN) && !qkp[q] -> qst[q] = DEAD } /* forgotten one ends one day */
  od
}

#define REC 10
proctype Reconciler()
{ byte v, ri, ro, rs; bit bad, hasil, nv;
  do
  :: {
#ifdef LIVE
       d_step { v = nv; nv = (NV > 1 && nv == 0) };                                    /* round robin: a fair choice */
#else
       if :: v = 0 :: NV > 1 -> v = NV-1 fi;
#endif
       ro = cl_own[v];
       if :: DS > 0 && ro == 1 -> d_step { !il -> il = 1; hasil = 1 } :: else fi;   /* C0 instance lock */
#ifdef M_INC_AFTER_LOOK
       ri = 0;
#else
       d_step { ri = cl_inc[v]; ro = cl_own[v]; rs = cl_st[v] };                     /* C1 read the claim first */
       if :: DS > 0 && ro == 1 && !hasil -> goto done :: else fi;                    /* owner changed meanwhile: look again later */
#endif
       if
       :: ro == 0 && type[v] != 0 ->                                                 /* repair */
#ifndef M_REPAIR_NOLOCK
          d_step { dl[v] == 0 -> dl[v] = REC };
#endif
          if
#ifndef M_REPAIR_NORECHECK
          :: cl_own[v] != 0 -> skip
          :: cl_own[v] == 0 ->
#else
          :: true ->
#endif
             tryopen(v, bad);
             if
             :: bad -> skip
             :: else -> if :: d_step { assert(!ANYOPEN(v)); assert(cl_own[v] == 0); assert(!ANYMAY(v)); type[v] = 0 }
                           :: d_step { rf > 0 && type[v] != 0 -> rf-- } fi
             fi
          fi
       :: ro == 0 && type[v] == 0 -> skip
       :: ro != 0 ->
#ifdef M_LOOK_UNDER_LOCK
          d_step { dl[v] == 0 -> dl[v] = REC };
#endif
          if                                                                        /* C2 look at libvirt, nothing locked */
#ifdef M_NODRAIN_FIN
          :: rs == DRAIN -> goto done
#else
          :: rs == DRAIN -> skip
#endif
          :: rs != DRAIN && !lv_alive -> 
#ifdef M_UNREACHABLE
             skip
#else
             goto done
#endif
          :: rs != DRAIN && lv_alive && lvpc[ro-1] == OFF -> skip
          :: rs != DRAIN && lv_alive && (lvpc[ro-1] == RUN || lvpc[ro-1] == LAUNCH) -> goto done
          fi;
#ifdef M_INC_AFTER_LOOK
          ri = cl_inc[v];
#endif
#ifndef M_LOOK_UNDER_LOCK
          d_step { dl[v] == 0 -> dl[v] = REC };                                       /* C3 */
#endif
          if                                                                        /* C4 same incarnation? */
#ifndef M_NOINC
          :: cl_own[v] != ro || cl_inc[v] != ri -> goto done
          :: cl_own[v] == ro && cl_inc[v] == ri -> skip
#else
          :: cl_own[v] == 0 -> goto done
          :: cl_own[v] != 0 -> d_step { ri = cl_inc[v]; ro = cl_own[v] }
#endif
          fi;
          if
          :: cl_st[v] == RESERVED -> d_step { CHK_PRE(v); CHK_UNCLAIM(v, ri); unclaim(v) }
          :: else ->
             d_step { CHK_OVER(v); CHK_PRE(v); cl_st[v] = DRAIN };                      /* C5 */
             witness(v, ro-1, bad);                                                  /* C6 */
             if
             :: bad -> skip
             :: else ->
                if
                :: d_step { CHK_RESET(v, ri); CHK_OVER(v); type[v] = 0 };              /* C7 */
                   d_step { CHK_UNCLAIM(v, ri); CHK_OVER(v); unclaim(v) }              /* C8 */
                :: d_step { rf > 0 && type[v] != 0 -> rf-- }
                fi
             fi
          fi
       fi;
done:  skip; d_step { drop(REC); if :: hasil -> il = 0; hasil = 0 :: else fi; ri = 0; ro = 0; rs = 0; bad = 0; v = 0 }
#if RB > 0
       ;if
       :: d_step { rb > 0 && lvpc[1] == OFF && cl_own[1-xml[1]] == 0 -> rb--; xml[1] = 1 - xml[1] }
       :: true
       fi
#endif
     } unless { d_step { dcrash -> dcrash = 0; probe[0] = (probe[0] && dl[0] != REC); probe[NV-1] = (probe[NV-1] && dl[NV-1] != REC);
                drop(REC); if :: hasil -> il = 0; hasil = 0 :: else fi; ri = 0; ro = 0; rs = 0; bad = 0; v = 0 }; !dcrash2 }
  od
}

/* daemon lifecycle start of A; lives in the same process as the reconciler: the crash there ends this one (pre = 0 tells it) */
#if DS > 0
proctype DaemonStart()
{ byte my; 
end_ds:
  do
  :: d_step { ds > 0 && !il && !dcrash && !dcrash2 -> ds--; il = 1 };
     { d_step { al == 0 && dl[0] == 0 -> al = REC+1; dl[0] = REC+1 };                  /* D1 */
       if
       :: d_step { cl_own[0] == 0 -> NEWINC; my = inc; pre = my; cl_own[0] = 1; cl_inc[0] = my; cl_st[0] = RESERVED }   /* D2 link */
       :: else -> skip                                       /* own stale claim: prepare deals with it; foreign: prepare refuses */
       fi;
       d_step { drop(REC+1) };                                                         /* D3 */
       if :: d_step { lv_alive && lvpc[0] == OFF && starts[0] < STA -> wantA = 1 };     /* D4 virDomainCreate, nothing locked */
             (!wantA && (!lv_alive || lvpc[0] == RUN || lvpc[0] == OFF))
          :: !lv_alive || starts[0] >= STA -> skip
       fi;
       d_step { dl[0] == 0 -> dl[0] = REC+1 };                                         /* D5 give back what prepare did not take over */
       if
       :: d_step { my != 0 && cl_inc[0] == my -> assert(cl_st[0] == RESERVED); CHK_UNCLAIM(0, my); unclaim(0) }
       :: else -> skip
       fi;
       d_step { drop(REC+1); il = 0; pre = 0; my = 0 }
     } unless { d_step { dcrash2 -> dcrash2 = 0; drop(REC+1); il = 0; pre = 0; my = 0; wantA = 0 } ; !dcrash }
  :: d_step { dcrash2 -> dcrash2 = 0 }
  od
}
#endif

/* doctor / devices --json looking at in_use by opening the group node, at any time */
#ifdef M_DOCTOR
proctype Doctor() { d_step { !ANYOPEN(0) -> probe[0] = 1 }; d_step { probe[0] = 0 } }
#endif

init {
  d_step { type[0] = DIRTY; 
#if RB > 0
    xml[1] = 0;
#endif
  };
  atomic {
    run Hook(0, 0); run Hook(1, 0); run Hook(2, 1);
    run Libvirt(0); run Libvirt(1);
    run Qemu(0); run Qemu(1); run Qemu(2);
#if STB > 1
    run Qemu(3);
#endif
    run Reconciler();
    run Faults();
#if DS > 0
    run DaemonStart();
#endif
#ifdef M_DOCTOR
    run Doctor();
#endif
  }
}

#define CLEAN (cl_own[0] == 0 && type[0] == 0 && cl_own[NV-1] == 0 && type[NV-1] == 0)
#ifdef LIVE
#define QUIET (lvpc[0] == OFF && lvpc[1] == OFF && hop[0] == 0 && hop[1] == 0 && hop[2] == 0 && al == 0)
ltl live { <> [] (CLEAN && QUIET) }
#endif
