; AIR with the pointers of LLVM 15 and older.
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-n8:16:32"
target triple = "air64-apple-macosx14.0.0"

%struct.args = type { i32, float addrspace(1)* }
@tile = internal addrspace(3) global [32 x float] undef, align 4

define void @scale(float addrspace(1)* noalias readonly %x, float addrspace(1)* %y, i32 addrspace(2)* %n, i32 %i) {
entry:
  %slot = alloca float addrspace(1)*, align 8
  store float addrspace(1)* %y, float addrspace(1)** %slot, align 8
  %count = load i32, i32 addrspace(2)* %n, align 4
  %inside = icmp ult i32 %i, %count
  br i1 %inside, label %body, label %done
body:
  %p = getelementptr inbounds float, float addrspace(1)* %x, i32 %i
  %v = load float, float addrspace(1)* %p, align 4
  %t = getelementptr inbounds [32 x float], [32 x float] addrspace(3)* @tile, i64 0, i64 3
  store float %v, float addrspace(3)* %t, align 4
  tail call void @air.wg.barrier(i32 2, i32 1)
  %out = load float addrspace(1)*, float addrspace(1)** %slot, align 8
  %q = getelementptr inbounds float, float addrspace(1)* %out, i32 %i
  %b = bitcast float addrspace(1)* %q to i8 addrspace(1)*
  store float %v, float addrspace(1)* %q, align 4
  br label %done
done:
  ret void
}

declare void @air.wg.barrier(i32, i32)

!air.kernel = !{!0}
!0 = !{void (float addrspace(1)*, float addrspace(1)*, i32 addrspace(2)*, i32)* @scale, !1, !2}
!1 = !{}
!2 = !{!3, !4, !5, !6}
!3 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_name", !"float", !"air.arg_name", !"x"}
!4 = !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_name", !"float", !"air.arg_name", !"y"}
!5 = !{i32 2, !"air.buffer", !"air.buffer_size", i32 4, !"air.location_index", i32 2, i32 1, !"air.read", !"air.address_space", i32 2, !"air.arg_type_name", !"uint", !"air.arg_name", !"n"}
!6 = !{i32 3, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint", !"air.arg_name", !"i"}
