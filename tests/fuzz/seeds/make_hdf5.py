"""Writes the HDF5 seeds with h5py, into the current folder: forms that the corpus has no file of."""
import h5py, numpy as np
from h5py import h5d, h5s, h5t, h5p
def layout(f, compact=False, be=False, many=0):
    opt=f.create_group('optimizer'); inner=opt.create_group('inner_optimizer/vars'); v=opt.create_group('vars'); v.attrs['name']='loss_scale_optimizer'; v.attrs['steps']=np.int32(7)
    def put(g,name,val):
        val=np.asarray(val)
        if not compact: g.create_dataset(name,data=val); return
        p=h5p.create(h5p.DATASET_CREATE); p.set_layout(h5d.COMPACT)
        d=h5d.create(g.id,name.encode(),h5t.py_create(val.dtype),h5s.create(h5s.SCALAR),p); d.write(h5s.ALL,h5s.ALL,val)
    o='>' if be else '<'
    put(v,'0',np.array(9,o+'i8')); put(v,'1',np.array(0.5,o+'f4')); put(v,'2',np.array(3,o+'i8')); put(v,'3',np.array(4096,o+'f4'))
    for i in range(4,4+many): put(v,str(i),np.array(i,o+'f4'))
for name,kw,lv in [('compact_latest',dict(compact=True),'latest'),('compact_v0',dict(compact=True),None),('big_endian',dict(be=True),None),('dense',dict(many=30),'latest'),('contiguous_v2',dict(),('v108','v108'))]:
    with h5py.File(name+'.h5','w',libver=lv) as f: layout(f,**kw)
