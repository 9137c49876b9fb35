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
def write(name, fill):
    with h5py.File(name+'.h5','w') as f: fill(f)
def data_of_many_forms(f):
    f['numbers']=np.arange(6.0); f['soft']=h5py.SoftLink('/numbers'); f['hard']=f['numbers']
    f.create_dataset('chunks',data=np.arange(400.0).reshape(20,20),chunks=(7,20),compression='gzip',shuffle=True)
    f.create_dataset('lzf',data=np.arange(64),compression='lzf'); f['pairs']=np.ones(2,dtype=[('a','i4'),('b','f8')])
    f.create_dataset('texts',data=['a','bb','c'*40],dtype=h5py.string_dtype())
    f.create_dataset('lists',data=np.array([np.arange(3),np.arange(5)],dtype=object),dtype=h5py.vlen_dtype('i4'))
    f.create_dataset('never',shape=(9,),dtype='f4'); f['empty']=h5py.Empty('f4'); f.attrs['names']=['x','y']; f.attrs['what']='text'
    f.create_dataset('growing',shape=(0,),maxshape=(None,),chunks=(4,),dtype='f4')
def virtual(f):
    v=h5py.VirtualLayout(shape=(4,),dtype='f4'); v[:]=h5py.VirtualSource('other.h5','x',shape=(4,)); f.create_virtual_dataset('v',v)
def plugin(f):
    p=h5p.create(h5p.DATASET_CREATE); p.set_chunk((4,)); p.set_filter(32015,h5py.h5z.FLAG_OPTIONAL,(3,))
    h5d.create(f.id,b'zstd',h5t.IEEE_F32LE,h5s.create_simple((4,)),p)
def deleted(f):
    f['secret']=np.frombuffer(b'cos\nsystem\n(S"id"\ntR.'*9,'u1'); f['kept']=np.ones(3); del f['secret']
def pickled_attribute(f): f.attrs['FILTERS']=np.bytes_(b"cos\ngetcwd\n(tR.")
def other_text(f):
    f.attrs['old']='a text that is written over'; f.attrs['old']='x'
for name,fill in [('forms',data_of_many_forms),('virtual',virtual),('plugin',plugin),('deleted',deleted),('pickled_attribute',pickled_attribute),('overwritten',other_text)]: write(name,fill)
hidden=b"X\x03\0\0\0abc0cos\ngetcwd\n)R."
def pickled_text(f): f.attrs.create('FILTERS',np.array(hidden,dtype='S40'))
def pickled_blob(f): f['state']=np.void(b"\x80\x02cos\ngetcwd\n)R.")
def pickled_variable(f): f.create_dataset('texts',data=["cos\ngetcwd\n)R."],dtype=h5py.string_dtype())
for name,fill in [('pickled_text',pickled_text),('pickled_blob',pickled_blob),('pickled_variable',pickled_variable)]: write(name,fill)
